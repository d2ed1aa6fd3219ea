import { text as textOf } from 'node:stream/consumers';
import { messageOf, RuntimeError } from '../../shared/errors.ts';
import { httpEvent } from '../../shared/events/http-event.ts';
import type { Outcome } from '../../shared/events/outcome.ts';
import { fromReply } from '../../shared/events/reply.ts';
import type { ServiceEvent } from '../../shared/events/service-event.ts';
import { parseGoDuration } from '../../shared/model/duration.ts';
import { displayKey, type ObjectKey } from '../../shared/model/object-key.ts';
import { refuseClearText } from './clear-text.ts';
import { type EventFlags, eventOfFlags, eventsOfText, keyOfFlags, typeOfFlag } from './decide-publish.ts';
import { followFlow } from './follow-flow.ts';
import { openQueue } from './queue.ts';
import { redisSettings } from './settings.ts';
import { settingsFile } from './settings-file.ts';
import { type CommonOptions, type ProcessSetup, setUp, setUpProcess } from './setup.ts';

export interface PublishOptions extends CommonOptions, EventFlags {
  file?: string;
  address?: string;
  tokenFile?: string;
  wait: boolean;
  timeout: string;
}

/**
 * `service-provider publish`: puts CloudEvents on the queue, or sends them to where a function is served. All are checked
 * before the first is sent. With `--wait` it ends with the flow, and fails where that failed.
 */
export async function publish(options: PublishOptions): Promise<void> {
  const timeoutMs = parseGoDuration(options.timeout);
  if (!timeoutMs || timeoutMs < 0)
    throw new RuntimeError('INVALID_SETTINGS', `--timeout ${options.timeout}: expected a duration such as 2m`);
  if (options.address !== undefined && !/^https?:$/.test(URL.parse(options.address)?.protocol ?? ''))
    throw new RuntimeError('INVALID_SETTINGS', `--address ${options.address}: expected http[s]://host[:port][/path]`);
  if (options.address !== undefined && options.tokenFile !== undefined) refuseClearText(options.address, '--address');
  const setup = await setUpProcess(options, { redis: options.address === undefined });
  const events = await eventsToSend(options, setup);
  const outcomes =
    options.address === undefined
      ? await toQueue(events, options, setup, timeoutMs)
      : await toAddress(events, options.address, options.tokenFile);
  if (outcomes.some((outcome) => outcome.kind === 'failed')) process.exitCode = 1;
}

async function eventsToSend(options: PublishOptions, { name }: ProcessSetup): Promise<ServiceEvent[]> {
  if (options.file !== undefined) {
    if (options.object !== undefined) throw new RuntimeError('INVALID_SETTINGS', '--file: give it, or --object');
    return eventsOfText(
      options.file === '-' ? await textOf(process.stdin) : settingsFile(options.file, '--file'),
      name,
    );
  }
  const type = typeOfFlag(options.type);
  const key = keyOfFlags(options, name);
  return [eventOfFlags(key.uid === '' ? await lookedUp(key, options) : key, type)];
}

/** An event is about one incarnation of an object: without `--uid`, the one that is there. */
async function lookedUp(key: ObjectKey, options: PublishOptions): Promise<ObjectKey> {
  const setup = await setUp(options, { redis: false });
  const { presencePorts } = await import('./presence-ports.ts');
  const ports = presencePorts(setup);
  const home =
    key.mode === 'standard' ? await ports.onboarding() : await ports.workspace(key.cluster).then(virtualOf(key));
  const object = await home.get(ports.type, key.name, key.namespace);
  if (object?.metadata.uid) return { ...key, uid: object.metadata.uid };
  throw new RuntimeError(
    'INVALID_SETTINGS',
    `--object: ${displayKey(key)} does not exist; create it, or give its --uid`,
  );
}

function virtualOf({ cluster }: ObjectKey) {
  return <T>(workspace: { virtual: T } | 'unbound'): T => {
    if (workspace !== 'unbound') return workspace.virtual;
    throw new RuntimeError('INVALID_SETTINGS', `--workspace ${cluster}: it does not bind the APIExport`);
  };
}

async function toQueue(
  events: readonly ServiceEvent[],
  options: PublishOptions,
  { env, name, log }: ProcessSetup,
  timeoutMs: number,
): Promise<Outcome[]> {
  const redis = redisSettings(env);
  const queue = openQueue(redis, name, log);
  try {
    await queue.ready(timeoutMs);
    const outcomes: Outcome[] = [];
    for (const event of events) {
      const flow = options.wait
        ? followFlow(redis, queue.keys, event.key, ({ functionName, job }) => {
            const { outcome, end, durationMs = 0 } = job;
            const said = outcome ? saidOf(outcome) : 'held by another invocation, which looks at it again';
            say(
              `  ${functionName.padEnd(20)} ${Math.round(durationMs)} ms  ${end === 'again-from-the-start' ? `${said}; something changed meanwhile, so it starts over` : said}`,
            );
          })
        : undefined;
      await flow?.listen();
      const started = performance.now();
      await queue.publisher.publish(event, 'user');
      say(`queued ${event.type} for ${displayKey(event.key)}`);
      if (!flow) continue;
      let outcome: Outcome;
      try {
        outcome = await flow.end(timeoutMs);
      } finally {
        await flow.close();
      }
      say(`ended after ${Math.round(performance.now() - started)} ms: ${saidOf(outcome)}`);
      outcomes.push(outcome);
    }
    return outcomes;
  } finally {
    await queue.close();
  }
}

async function toAddress(events: readonly ServiceEvent[], address: string, tokenFile?: string): Promise<Outcome[]> {
  const token = tokenFile === undefined ? undefined : settingsFile(tokenFile, '--token-file').trim();
  const outcomes: Outcome[] = [];
  for (const event of events) {
    const headers = { ...httpEvent(event).headers, ...(token ? { authorization: `Bearer ${token}` } : {}) };
    const response = await fetch(address, { method: 'POST', headers }).catch((error: Error) => {
      throw new RuntimeError('NOT_READY', `${address}: ${messageOf(error.cause ?? error)}`);
    });
    const body = await response.text();
    if (response.status !== 200)
      throw new RuntimeError('NOT_READY', `${address}: ${response.status} ${body.slice(0, 300)}`);
    const outcome = fromReply(Object.fromEntries(response.headers), body, event);
    say(`${displayKey(event.key)}: ${saidOf(outcome)}`);
    outcomes.push(outcome);
  }
  return outcomes;
}

function saidOf(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'done':
      return outcome.next.length > 0 ? `done, next ${outcome.next.join(', ')}` : 'done';
    case 'again':
      return `again in ${Math.round(outcome.afterMs / 100) / 10} s (${outcome.reason})`;
    case 'waiting':
      return `waiting for ${outcome.for}`;
    case 'failed':
      return `failed${outcome.permanent ? ', and is not tried again before something changes' : ''}: ${outcome.message}`;
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
