import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Agent, type Dispatcher } from 'undici';
import { messageOf } from '../../shared/errors.ts';
import { httpEvent } from '../../shared/events/http-event.ts';
import { again, failed, lost, type Outcome } from '../../shared/events/outcome.ts';
import { fromReply } from '../../shared/events/reply.ts';
import type { ServiceEvent } from '../../shared/events/service-event.ts';
import { askedPauseMs } from '../../shared/kube/decide-pause.ts';
import { CALL_GRACE_MS } from '../../shared/tuning.ts';
import { BUSY_PATIENCE_MS, BUSY_RETRY_SECONDS, COLD_START_LIMIT_MS } from '../tuning.ts';
import type { Hold } from '../step/hold.ts';
import type { TokenFile } from './bearer.ts';
import type { Invoke } from './deliver.ts';

export interface DispatcherOptions {
  /** Where the function takes events, `http[s]://host[:port][/path]`. */
  address: string;
  /** Sent as `Authorization: Bearer`. */
  token?: TokenFile | undefined;
  /** PEM, for a server certificate of a private authority. */
  ca?: string | undefined;
  /** How long an invocation may take. */
  runLimitMs: number;
  /** How long a request may wait until the function has started; default 30 s. */
  coldStartMs?: number;
  /** Connections, and so invocations, at once. */
  concurrency: number;
  /** Fires when this process can't wait for answers any longer. */
  stop?: AbortSignal;
  log: Logger;
}

export interface RunningDispatcher {
  readonly invoke: Invoke;
  close(): Promise<void>;
}

/** Lets a function at an address do the invocations: sends the event, and takes the outcome from the reply. */
export function createDispatcher(options: DispatcherOptions): RunningDispatcher {
  const { ca, concurrency, runLimitMs, coldStartMs = COLD_START_LIMIT_MS } = options;
  const timeout = coldStartMs + runLimitMs;
  const agent = new Agent({
    connections: concurrency,
    pipelining: 1,
    connect: { timeout: coldStartMs, ...(ca ? { ca } : {}) },
    headersTimeout: timeout,
    bodyTimeout: timeout,
  });
  return { invoke: (event, hold) => dispatched(event, hold, agent, options), close: () => agent.destroy() };
}

async function dispatched(
  event: ServiceEvent,
  hold: Hold,
  agent: Dispatcher,
  options: DispatcherOptions,
): Promise<Outcome> {
  hold.renewed(() => undefined);
  const end = performance.now() + BUSY_PATIENCE_MS;
  for (;;) {
    const answer = await post(event, hold, agent, options);
    if ('kind' in answer) return answer;
    // Nothing was begun. It keeps its place here for a while; then others get their turn.
    if (hold.signal.aborted || options.stop?.aborted || performance.now() + answer.retryMs > end)
      return again(answer.retryMs, answer.problem);
    options.log.debug({ problem: answer.problem }, 'the function is busy; asked again');
    await sleep(answer.retryMs, undefined, { signal: hold.signal }).catch(() => undefined);
  }
}

/** The function did not begin. */
interface Busy {
  readonly retryMs: number;
  readonly problem: string;
}

async function post(
  event: ServiceEvent,
  hold: Hold,
  agent: Dispatcher,
  { address, token, runLimitMs, stop, log }: DispatcherOptions,
): Promise<Outcome | Busy> {
  const url = new URL(address);
  const authorization = token ? { authorization: `Bearer ${await token.read()}` } : {};
  // Whatever the function does after this is out of our reach until then.
  const mayRunMs = runLimitMs + CALL_GRACE_MS;
  let response: Dispatcher.ResponseData;
  let body: string;
  hold.guard();
  try {
    response = await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'POST',
      headers: { ...httpEvent(event, mayRunMs / 1_000).headers, ...authorization },
      signal: stop ? AbortSignal.any([hold.signal, stop]) : hold.signal,
    });
    body = await response.body.text();
  } catch (error) {
    const message = `${address}: ${messageOf(error)}`;
    log.warn({ problem: message }, 'the function gave no answer');
    return neverSent(error) ? failed(message) : lost(message, mayRunMs);
  }
  const { statusCode, headers } = response;
  if (statusCode === 200) {
    try {
      return fromReply(headers, body, event);
    } catch (error) {
      return failed(`${address}: ${messageOf(error)}`);
    }
  }
  if (statusCode === 429 || statusCode === 503)
    return {
      retryMs: askedPauseMs(statusCode, headers, undefined) ?? BUSY_RETRY_SECONDS * 1_000,
      problem: `${address}: ${statusCode} ${body.slice(0, 200)}`,
    };
  const message = `${address}: ${statusCode} ${body.slice(0, 200)}`;
  log.warn({ problem: message }, 'the function refused the event');
  // A proxy that lost the function in the middle knows no more than we do.
  return statusCode === 502 || statusCode === 504 ? lost(message, mayRunMs) : failed(message);
}

/** Whether the connection failed before the event was on it. */
function neverSent(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'UND_ERR_CONNECT_TIMEOUT';
}
