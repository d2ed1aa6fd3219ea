import pino from 'pino';
import type { Invoke } from '../../functions/host/deliver.ts';
import { createDispatcher } from '../../functions/host/dispatcher.ts';
import { dispatcherTimes } from '../../functions/host/dispatcher-times.ts';
import { createFunctionServer } from '../../functions/host/server.ts';
import { openQueue } from '../../deploy/command/queue.ts';
import { leaseTimes, startWorkers, type Workers } from '../../deploy/command/workers.ts';
import { isRuntimeError } from '../../shared/errors.ts';
import type { Hold } from '../../functions/step/hold.ts';
import type { FromHost, HostOrder, ToHost } from './messages.ts';

const COLD_START_MS = 2_000;

/** One host of a function in a process of its own; what the function does is decided by the test, over IPC. */
const order = JSON.parse(process.argv[2] as string) as HostOrder;
const { provider, functionName, concurrency } = order;
const log = pino({ level: 'trace', name: order.kind }, pino.destination({ dest: order.logFile, sync: true }));
const send = (message: FromHost): void => void process.send?.(message);

const calls = new Map<number, { hold: Hold; end: (message: Extract<ToHost, { do: 'end' }>) => void }>();
let count = 0;

const invoke: Invoke = async (event, hold) => {
  const call = ++count;
  const ended = new Promise<Extract<ToHost, { do: 'end' }>>((end) => calls.set(call, { hold, end }));
  hold.renewed(() => send({ call, said: 'wanted' }));
  hold.signal.addEventListener('abort', () => send({ call, said: 'told', reason: String(hold.signal.reason) }));
  send({ call, said: 'begun', event });
  const message = await ended;
  if ('error' in message) throw new Error(message.error);
  return message.outcome;
};

process.on('message', (message: ToHost) => {
  if (message.do === 'shutdown') return void shutdown();
  if (message.do === 'problems') return send({ said: 'problems', problems: problems() });
  const known = calls.get(message.call);
  if (message.do === 'end') return known?.end(message);
  try {
    known?.hold.guard();
    send({ call: message.call, said: 'may send' });
  } catch (error) {
    send({ call: message.call, said: isRuntimeError(error, 'STALE_HOLDER') ? 'may not send' : 'failed' });
  }
});

const times = leaseTimes(order.leaseMs);
let shutdown: () => Promise<void>;
let problems = (): string[] => [];
if (order.kind === 'server') {
  const server = createFunctionServer({ provider, functionName, invoke, concurrency, holdMs: order.runLimitMs, log });
  const port = await server.listen({ host: '127.0.0.1', port: order.port });
  shutdown = async () => {
    server.drain();
    for (const { hold } of calls.values()) hold.stop('Shutdown');
    await server.close();
    process.exit();
  };
  send({ said: 'ready', port });
} else {
  const queue = openQueue(order.redis, provider, log);
  problems = () => queue.problems();
  const stopping = new AbortController();
  const dispatcher =
    order.kind === 'dispatcher'
      ? createDispatcher({
          address: order.address,
          runLimitMs: order.runLimitMs,
          coldStartMs: COLD_START_MS,
          concurrency,
          stop: stopping.signal,
          log,
        })
      : undefined;
  const workers: Workers = startWorkers(
    queue,
    dispatcher ? dispatcherTimes(order.runLimitMs, times, COLD_START_MS) : times,
    {
      provider,
      functions: [functionName],
      redis: order.redis,
      concurrency,
      jobLockMs: 2_000,
      stalledCheckMs: 700,
      log,
    },
    () => dispatcher?.invoke ?? invoke,
    () => {
      stopping.abort();
      for (const { hold } of calls.values()) hold.stop('Shutdown');
    },
  );
  shutdown = async () => {
    await workers.stop();
    await queue.close();
    process.exit();
  };
  send({ said: 'ready', port: 0 });
}
