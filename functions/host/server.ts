import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { messageOf, RuntimeError } from '../../shared/errors.ts';
import { type FunctionName, OBJECT_CHANGED, RECEIVER } from '../../shared/events/catalogue.ts';
import { contentMode, MAX_EVENT_BYTES, parseHttpEvent } from '../../shared/events/http-event.ts';
import { again, done, failed, type Outcome } from '../../shared/events/outcome.ts';
import { toReply } from '../../shared/events/reply.ts';
import type { ServiceEvent } from '../../shared/events/service-event.ts';
import { formatObjectKey, type Mode } from '../../shared/model/object-key.ts';
import { UNKNOWN_VERSION_RETRY_MS } from '../../shared/tuning.ts';
import { BUSY_RETRY_SECONDS, SERVER_LOOK_MS } from '../tuning.ts';
import type { TokenFile } from './bearer.ts';
import type { DeliveredStep, Invoke } from './deliver.ts';
import { NO_EVENT, takeEventBodies } from './event-bodies.ts';
import { listenOn } from './listen.ts';
import { plainFastify } from './plain-fastify.ts';
import { serveProbes } from './probes.ts';
import { ServerHold } from './server-hold.ts';

export interface ServerOptions {
  provider: string;
  functionName: FunctionName;
  /** Does one invocation. Must not reject; a rejection counts as a retryable failure all the same. */
  invoke: Invoke;
  /** Objects that are worked on at once; more are answered with 429. */
  concurrency: number;
  /** How long an invocation may take where the sender does not say how long it holds the object. */
  holdMs: number;
  /** Who may send; undefined: who reaches the address. */
  token?: TokenFile | undefined;
  /** Why the function can't work on objects of that mode at the moment, or on any; empty when it can. */
  problems?: (mode?: Mode) => readonly string[];
  /** What `/readyz` says besides: something that some objects need. Events are taken all the same. */
  lacks?: () => readonly string[];
  /** Whether who comes with that `Authorization` header may read them at `/readyz`. Undefined: nobody. */
  mayReadDetails?: ((authorization: string) => Promise<boolean>) | undefined;
  onStep?: (step: DeliveredStep) => void;
  log: Logger;
}

export interface FunctionServer {
  /** @returns the port */
  listen(address: { host: string; port: number }): Promise<number>;
  /** Invocations that run. */
  readonly running: number;
  /** From now on new events are answered with 503, and `/readyz` too; what runs goes on. */
  drain(): void;
  /** Waits for the replies of what runs, and ends. */
  close(): Promise<void>;
}

/**
 * One function as an HTTP service for CloudEvents, in binary and in structured mode; needs no queue. `POST /` answers 200
 * with the outcome (see `shared/events/reply.ts`), and otherwise: 400 not an event for this provider, 401, 413, 415 no
 * CloudEvent by its headers, 429 too many at once or the object is being worked on, 503 ending or not ready; 429 and 503
 * with `Retry-After`, and then nothing was done. `GET /healthz` and `/readyz` are for probes.
 */
export function createFunctionServer(options: ServerOptions): FunctionServer {
  const { functionName, concurrency, problems = () => [], lacks = () => [], token, log } = options;
  const app = plainFastify({ forceCloseConnections: 'idle' });
  const working = new Map<string, ServerHold>();
  let draining = false;
  takeEventBodies(app);
  serveProbes(app, { ...options, problems: () => (draining ? ['ending'] : [...problems(), ...lacks()]) });

  const refuse = (reply: FastifyReply, status: number, problem: string): FastifyReply => {
    log.debug({ status, problem }, 'event not taken');
    if (status === 429 || status === 503) void reply.header('retry-after', BUSY_RETRY_SECONDS);
    return reply.code(status).send({ problem });
  };
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 500;
    return refuse(reply, status, status === 413 ? `an event has at most ${MAX_EVENT_BYTES} bytes` : error.message);
  });
  app.setNotFoundHandler((_request, reply) => refuse(reply, 404, 'events are taken by POST /'));
  app.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'POST') return;
    if (token && !(await token.admits(request.headers.authorization))) return refuse(reply, 401, 'another token');
    if (draining) return refuse(reply, 503, 'this process is ending');
    if (!contentMode(request.headers)) return refuse(reply, 415, NO_EVENT);
  });

  app.post('/', async (request: FastifyRequest<{ Body: string | undefined }>, reply) => {
    let parsed: ReturnType<typeof parseHttpEvent>;
    try {
      parsed = parseHttpEvent(request.headers, request.body ?? '');
      if (parsed.event.key.provider !== options.provider)
        throw new RuntimeError('INVALID_EVENT', `source: this is provider ${options.provider}`);
    } catch (error) {
      return refuse(reply, 400, messageOf(error));
    }
    const { event } = parsed;
    // As a worker does: one that only a newer version knows is handed back, one for another function starts over.
    if ('unknownVersion' in event) return send(reply, again(UNKNOWN_VERSION_RETRY_MS, 'UnknownVersion'), event);
    if (RECEIVER[event.type] !== functionName) return send(reply, done(OBJECT_CHANGED), event);
    const key = formatObjectKey(event.key);
    if (working.has(key)) return refuse(reply, 429, 'the object is being worked on');
    if (working.size >= concurrency) return refuse(reply, 429, `${concurrency} objects are being worked on`);
    const [problem] = problems(event.key.mode);
    // What is missing is for who proved to be the dispatcher.
    if (problem !== undefined) return refuse(reply, 503, token ? problem : 'not ready');
    const holdMs = parsed.leaseSeconds === undefined ? options.holdMs : parsed.leaseSeconds * 1_000;
    const hold = new ServerHold(holdMs, SERVER_LOOK_MS);
    working.set(key, hold);
    // Whoever waited gave up, and may have given the object to somebody else.
    reply.raw.once('close', () => hold.stop('LeaseLost'));
    try {
      return send(reply, await invoked(event, hold), event);
    } finally {
      hold.end();
      working.delete(key);
    }
  });

  const invoked = async (event: ServiceEvent, hold: ServerHold): Promise<Outcome> => {
    const started = performance.now();
    const outcome = await options.invoke(event, hold).catch((error: unknown) => failed(messageOf(error)));
    options.onStep?.({ event, functionName, outcome, durationMs: performance.now() - started });
    return outcome;
  };

  return server(app, working, () => (draining = true));
}

function send(reply: FastifyReply, outcome: Outcome, event: Pick<ServiceEvent, 'key'>): FastifyReply {
  const { headers, body } = toReply(outcome, event);
  return reply.code(200).headers(headers).send(body);
}

function server(app: FastifyInstance, working: ReadonlyMap<string, unknown>, drain: () => void): FunctionServer {
  return {
    async listen({ host, port }) {
      await listenOn(app, { host, port });
      const address = app.server.address();
      return typeof address === 'object' ? (address?.port ?? port) : port;
    },
    get running() {
      return working.size;
    },
    drain,
    close: () => app.close(),
  };
}
