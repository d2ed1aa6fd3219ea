import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { led } from '../../../../bridge/lead/leader.ts';
import { LEAVE_GRACE_MS } from '../../../../bridge/tuning.ts';
import type { KubeObject } from '../../../../shared/model/kubernetes.ts';
import { eventually } from '../../../support/wait.ts';

/** A platform cluster that can stop to answer. */
class Platform {
  hangs: Promise<void> | undefined;
  lease: KubeObject | undefined;
  patches: object[] = [];

  async get<T extends KubeObject>(): Promise<T | undefined> {
    await this.hangs;
    return this.lease as T | undefined;
  }

  async create<T extends KubeObject>(_type: unknown, object: T): Promise<T> {
    await this.hangs;
    this.lease = object;
    return object;
  }

  async mergePatch<T extends KubeObject>(_type: unknown, _name: string, patch: object): Promise<T> {
    await this.hangs;
    this.patches.push(patch);
    return this.lease as T;
  }
}

function replica(platform: Platform) {
  const happened: string[] = [];
  const part = led(
    { start: () => void happened.push('start'), stop: () => void happened.push('stop') },
    { platform, name: 'foo', namespace: 'foo', identity: 'me', leaseMs: 100, log: pino({ level: 'silent' }) },
  );
  return { part, happened };
}

test('who stops gives the lead up', async () => {
  const platform = new Platform();
  const { part, happened } = replica(platform);
  part.start?.();
  await eventually('it leads', () => happened.length === 1);
  await part.stop?.();
  expect(happened).toEqual(['start', 'stop', 'stop']);
  expect(platform.patches.at(-1)).toMatchObject({ spec: { holderIdentity: '' } });
});

test('a server that does not answer holds up the end for a moment only, and starts nothing afterwards', async () => {
  const platform = new Platform();
  let answer = (): void => undefined;
  platform.hangs = new Promise((resolve) => (answer = resolve));
  const { part, happened } = replica(platform);
  part.start?.();
  const started = performance.now();
  await part.stop?.();
  expect(performance.now() - started).toBeLessThan(LEAVE_GRACE_MS + 2_000);
  answer();
  await sleep(50);
  expect(happened).toEqual(['stop']);
});
