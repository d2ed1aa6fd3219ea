import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { settlementOf } from '../../functions/host/settle.ts';
import type { EventType } from '../../shared/events/catalogue.ts';
import { fromReply } from '../../shared/events/reply.ts';
import { lost, type Outcome } from '../../shared/events/outcome.ts';
import { parseServiceEvent } from '../../shared/events/service-event.ts';
import { formatObjectKey, type ObjectKey } from '../../shared/model/object-key.ts';
import { freePort } from '../control-planes/ports.ts';
import { eventually } from '../support/wait.ts';
import { type Call, HostProcess } from './hosts.ts';
import { COMMON_ORDER, type Rig, RUN_LIMIT_MS } from './rig.ts';

interface Known {
  next: EventType[];
  due: number | undefined;
  failures: number;
}

/** A function that is served over HTTP, and the simplest sender that does by the documented replies what it has to. */
export async function httpRig(): Promise<Rig> {
  const dir = mkdtempSync(join(tmpdir(), 'contract-'));
  const logFile = join(dir, 'hosts.log');
  const port = await freePort();
  const calls: Call[] = [];
  const processes: HostProcess[] = [];
  const start = async (): Promise<void> => {
    const order = { ...COMMON_ORDER, kind: 'server', logFile, port } as const;
    processes.push(await HostProcess.start(order, (call) => calls.push(call)));
  };
  await start();

  const known = new Map<string, Known>();
  const of = (id: string): Known => {
    const one = known.get(id) ?? { next: [], due: undefined, failures: 0 };
    known.set(id, one);
    return one;
  };
  const settle = (key: ObjectKey, outcome: Outcome): void => {
    const one = of(formatObjectKey(key));
    const { timer, attempts } = settlementOf(outcome, one.failures, Math.random());
    if (timer !== 'keep') one.due = timer === 'clear' ? undefined : Date.now() + timer.afterMs;
    if (attempts !== 'keep') one.failures = attempts === 'clear' ? 0 : one.failures + 1;
    if (outcome.kind === 'done') one.next.push(...outcome.next);
  };
  let underWay = 0;
  let stopped = false;
  const send = async (data: unknown): Promise<void> => {
    const body = JSON.stringify(data);
    for (;;) {
      const response = await fetch(`http://127.0.0.1:${port}/`, {
        method: 'POST',
        headers: { 'content-type': 'application/cloudevents+json' },
        body,
      }).catch(() => undefined);
      if (stopped) return;
      if (response?.status === 429 || response?.status === 503) {
        await response.text();
        await sleep(Number(response.headers.get('retry-after')) * 1_000);
        continue;
      }
      // 4xx: it would be refused again.
      if (response && response.status !== 200) return void (await response.text());
      const { key } = parseServiceEvent(data);
      if (!response) return settle(key, lost('no answer', RUN_LIMIT_MS));
      return settle(key, fromReply(Object.fromEntries(response.headers), await response.text(), { key }));
    }
  };
  return {
    calls,
    deliver(data) {
      underWay += 1;
      void send(data).finally(() => (underWay -= 1));
      return Promise.resolve();
    },
    effect(key) {
      const { next, due, failures } = of(formatObjectKey(key));
      return Promise.resolve({ next, timer: due === undefined ? undefined : due - Date.now(), failures });
    },
    async idle() {
      await eventually('every event is answered', () => underWay === 0);
    },
    another: start,
    logged: () => readFileSync(logFile, 'utf8'),
    async stop() {
      stopped = true;
      await Promise.all(processes.map((process) => process.kill()));
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
