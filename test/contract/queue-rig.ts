import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import pino from 'pino';
import { Sender } from '../../bridge/send/sender.ts';
import { DEFAULT_TUNING } from '../../bridge/tuning.ts';
import { startDuties } from '../../bridge/upkeep/duties.ts';
import { EpochKeeper } from '../../bridge/upkeep/epoch.ts';
import { type EventType, FUNCTION_NAMES } from '../../shared/events/catalogue.ts';
import { parseServiceEvent, type ServiceEvent } from '../../shared/events/service-event.ts';
import { formatObjectKey, type ObjectKey } from '../../shared/model/object-key.ts';
import { DeliveryState } from '../../shared/queue/delivery-state.ts';
import { queueKeys, queueName } from '../../shared/queue/keys.ts';
import { BullPublisher } from '../../shared/queue/publisher.ts';
import { freePort } from '../control-planes/ports.ts';
import { startRedis } from '../control-planes/redis.ts';
import { eventually } from '../support/wait.ts';
import { type Call, HostProcess } from './hosts.ts';
import type { HostOrder } from './messages.ts';
import { COMMON_ORDER, FUNCTION, PROVIDER, type Rig } from './rig.ts';

export interface QueueRig extends Rig {
  readonly redisUrl: string;
  deliverInBackground(event: ServiceEvent): Promise<void>;
}

/** A function that gets its work from a queue: in the worker's own process, or served behind a dispatcher. */
export async function queueRig(host: 'worker' | 'dispatcher'): Promise<QueueRig> {
  const dir = mkdtempSync(join(tmpdir(), 'contract-'));
  const redis = await startRedis({ dir: join(dir, 'redis') });
  const client = new Redis(redis.url, { maxRetriesPerRequest: null, replyMapping: 'legacy' });
  const keys = queueKeys(PROVIDER);
  const state = new DeliveryState(client, keys);
  await state.beginEpoch(0);
  const publisher = new BullPublisher(client, keys, () => undefined);
  const queues = FUNCTION_NAMES.map((name) => new Queue(queueName(name), { connection: client, prefix: keys.prefix }));
  const work = queues.find(({ name }) => name === FUNCTION) as Queue;

  // Of the bridge what concerns the queue: timers, and parked objects whose holder has died.
  const quiet = pino({ level: 'silent' });
  const epoch = new EpochKeeper(state, { longestLeaseMs: 0, log: quiet, onChanged: () => undefined });
  const bridge = new Sender(publisher, () => epoch.verified, { tuning: DEFAULT_TUNING, log: quiet });
  const endDuties = startDuties({
    state,
    epoch,
    sender: bridge,
    resync: () => undefined,
    tuning: { ...DEFAULT_TUNING, timerSweepMs: 60_000, parkedSweepMs: 300 },
    log: quiet,
  });

  const logFile = join(dir, 'hosts.log');
  const common = { ...COMMON_ORDER, logFile };
  const calls: Call[] = [];
  const processes: HostProcess[] = [];
  const start = async (order: HostOrder): Promise<HostProcess> => {
    const process = await HostProcess.start(order, (call) => calls.push(call));
    processes.push(process);
    return process;
  };
  const port = host === 'dispatcher' ? await freePort() : 0;
  const startFunction = (): Promise<HostProcess> =>
    start(
      host === 'worker'
        ? { ...common, kind: 'worker', redis: { url: redis.url } }
        : { ...common, kind: 'server', port },
    );
  const startSender = (): Promise<HostProcess> =>
    start({ ...common, kind: 'dispatcher', redis: { url: redis.url }, address: `http://127.0.0.1:${port}/` });

  await startFunction();
  let sender = host === 'dispatcher' ? await startSender() : undefined;

  const asked = async (key: ObjectKey): Promise<EventType[]> => {
    const found: EventType[] = [];
    for (const queue of queues) {
      if (queue === work) continue;
      for (const job of await queue.getJobs(['waiting', 'prioritized'], 0, -1, true)) {
        const event = parseServiceEvent(job.data);
        if (!('type' in event) || formatObjectKey(event.key) !== formatObjectKey(key)) continue;
        found.push(event.type);
      }
    }
    return found;
  };
  return {
    redisUrl: redis.url,
    calls,
    deliverInBackground: (event) => publisher.publish(event, 'background'),
    async deliver(data) {
      const event = sound(data);
      if (event) return publisher.publish(event, 'user');
      await work.add('raw', data, { jobId: randomUUID(), removeOnComplete: true, removeOnFail: true });
    },
    async effect(key) {
      const member = formatObjectKey(key);
      const due = await client.zscore(keys.timers, member);
      return {
        next: await asked(key),
        timer: due === null ? undefined : Number(due) - Date.now(),
        failures: await state.attempts(key),
      };
    },
    async idle() {
      await eventually('the queue is empty', async (seen) => {
        const counts = await work.getJobCounts('waiting', 'prioritized', 'active');
        seen(counts);
        return Object.values(counts).every((count) => count === 0);
      });
    },
    ...(sender
      ? {
          async crashSender() {
            await sender?.kill();
            sender = await startSender();
          },
        }
      : {}),
    async another() {
      await startFunction();
    },
    logged: () => readFileSync(logFile, 'utf8'),
    async stop() {
      await Promise.all(processes.map((process) => process.kill()));
      endDuties();
      await bridge.stop();
      await publisher.close();
      await Promise.all(queues.map((queue) => queue.close()));
      client.disconnect();
      await redis.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** What our own sender would send; anything else is put into the queue as it is. */
function sound(data: unknown) {
  try {
    const event = parseServiceEvent(data);
    const plain =
      'type' in event && event.type.endsWith('install.requested.v1') && Object.keys(data as object).length < 13;
    return plain && event.key.provider === PROVIDER ? event : undefined;
  } catch {
    return undefined;
  }
}
