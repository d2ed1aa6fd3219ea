import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { RuntimeStats } from './compose.ts';
import type { DeliveredStep } from '../../functions/host/deliver.ts';

const PREFIX = 'service_provider';
/** An invocation takes milliseconds to a minute. */
const BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export interface Metrics {
  readonly contentType: string;
  /** Counts an invocation. */
  step(step: DeliveredStep): void;
  /** From now on every scrape also tells what `stats` says. */
  watch(stats: () => Promise<RuntimeStats>): void;
  text(): Promise<string>;
}

/** Metrics of one process in the format of Prometheus. No label holds a name of a tenant's object. */
export function createMetrics(provider: string): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ provider });
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const invocations = new Counter({
    name: `${PREFIX}_invocations_total`,
    help: 'Invocations of functions by their outcome.',
    labelNames: ['function', 'outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: `${PREFIX}_invocation_duration_seconds`,
    help: 'Duration of invocations.',
    labelNames: ['function'],
    buckets: BUCKETS_S,
    registers,
  });
  let refresh = (): Promise<void> => Promise.resolve();
  return {
    contentType: registry.contentType,
    step({ functionName, outcome, durationMs }) {
      invocations.inc({ function: functionName, outcome: outcome.kind });
      seconds.observe({ function: functionName }, durationMs / 1000);
    },
    watch: (stats) => (refresh = gaugesOf(registers, stats)),
    async text() {
      await refresh();
      return registry.metrics();
    },
  };
}

/** @returns brings all gauges up to date */
function gaugesOf(registers: Registry[], stats: () => Promise<RuntimeStats>): () => Promise<void> {
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]): Gauge<Label> =>
    new Gauge<Label>({ name: `${PREFIX}_${name}`, help, labelNames, registers });
  const up = gauge('queue_up', 'Whether the queue can be asked; if not, the values about it are missing.');
  const jobs = gauge('queue_jobs', 'Jobs in the queue of a function.', 'function', 'state');
  const delivery = gauge('delivery_objects', 'Objects with a timer, parked, or failed last time.', 'state');
  const waiting = gauge('bridge_waiting_objects', 'Objects that changed and are not sent yet.');
  const objects = gauge('bridge_objects', 'Objects that the bridge knows.', 'mode');
  const bound = gauge('bound_workspaces', 'kcp workspaces that bind the APIExport.');
  const vanished = gauge('vanished_objects', 'Objects that went without a deletion that was seen, since the start.');
  const leads = gauge('bridge_leads', 'Whether this replica leads a mode.', 'mode');
  const watchUp = gauge('bridge_watch_up', 'Whether a watch hears of every change.', 'watch');
  return async () => {
    const { queue, bridge } = await stats();
    for (const one of [jobs, delivery]) one.reset();
    up.set(queue ? 1 : 0);
    for (const { functionName, waiting: count, active } of queue?.jobs ?? []) {
      jobs.set({ function: functionName, state: 'waiting' }, count);
      jobs.set({ function: functionName, state: 'active' }, active);
    }
    for (const [state, size] of Object.entries(queue?.objects ?? {})) delivery.set({ state }, size);
    if (!bridge) return;
    waiting.set(bridge.waiting);
    bound.set(bridge.boundWorkspaces);
    vanished.set(bridge.vanishedObjects);
    for (const one of bridge.modes) {
      objects.set({ mode: one.mode }, one.objects);
      leads.set({ mode: one.mode }, one.leads ? 1 : 0);
    }
    for (const one of bridge.watches) watchUp.set({ watch: one.watch }, one.up ? 1 : 0);
  };
}
