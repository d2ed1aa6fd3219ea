import { parentPort, workerData } from 'node:worker_threads';
import pino from 'pino';
import { type LeaseTimes } from '../../../functions/host/lease.ts';
import { startWorker } from '../../../functions/host/worker.ts';
import { isRuntimeError } from '../../../shared/errors.ts';
import { failed } from '../../../shared/events/outcome.ts';
import { DeliveryState } from '../../../shared/queue/delivery-state.ts';
import { queueKeys } from '../../../shared/queue/keys.ts';
import { BullPublisher } from '../../../shared/queue/publisher.ts';
import { senderConnection, workerConnection } from '../../../shared/queue/redis.ts';
import { connectRedis } from '../../support/connect-redis.ts';

/** A worker with an event loop of its own, which it blocks in its first invocation. */
export interface ThreadOrder {
  readonly url: string;
  readonly provider: string;
  readonly times: LeaseTimes;
  readonly blockMs: number;
}

export type ThreadReport = 'ready' | 'blocking' | 'goes on' | 'refused: STALE_HOLDER' | 'lease lost';

const { url, provider, times, blockMs } = workerData as ThreadOrder;
const report = (what: ThreadReport): void => parentPort?.postMessage(what, []);
const keys = queueKeys(provider);
const redis = await connectRedis(senderConnection({ url }), () => undefined);
const log = pino({}, { write: (line: string) => void (line.includes('the lease was lost') && report('lease lost')) });

startWorker({
  provider,
  functionName: 'provider-install',
  state: new DeliveryState(redis, keys),
  publisher: new BullPublisher(redis, keys, () => undefined),
  times,
  keys,
  log,
  concurrency: 1,
  connection: workerConnection({ url }),
  invoke: (_event, lease) => {
    lease.renewed(() => undefined);
    lease.guard();
    report('blocking');
    const end = performance.now() + blockMs;
    while (performance.now() < end);
    try {
      lease.guard();
      report('goes on');
    } catch (error) {
      if (isRuntimeError(error, 'STALE_HOLDER')) report('refused: STALE_HOLDER');
    }
    return Promise.resolve(failed('stopped'));
  },
});
report('ready');
