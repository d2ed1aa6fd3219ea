import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { ConfigStatus } from '../../../../bridge/config/config-status.ts';
import {
  type ConfigWithStatus,
  endpoints,
  notProvisioned,
  provisioned,
} from '../../../../bridge/config/decide-config-status.ts';
import { Backoff } from '../../../../bridge/watch/backoff.ts';
import foo from '../../../../functions/providers/foo/provider.ts';
import { RuntimeError } from '../../../../shared/errors.ts';
import type { KubeObject } from '../../../../shared/model/kubernetes.ts';
import { eventually } from '../../../support/wait.ts';

/** A ProviderConfig that tells all who report of each change, as a watch does. */
class Config {
  object: ConfigWithStatus = { metadata: { name: foo.name, generation: 1, resourceVersion: '1' } };
  writes = 0;
  readonly reporters: ConfigStatus[] = [];
  readonly client = {
    get: <T extends KubeObject>() => Promise.resolve(structuredClone(this.object) as unknown as T),
    mergePatch: <T extends KubeObject>(_type: unknown, _name: string, patch: object) => {
      const { status } = patch as ConfigWithStatus;
      const resourceVersion = String(++this.writes + 1);
      this.object = { metadata: { ...this.object.metadata, resourceVersion }, ...(status && { status }) };
      for (const each of this.reporters) setImmediate(() => each.refresh());
      return Promise.resolve(this.object as unknown as T);
    },
  };

  reporter(): ConfigStatus {
    const contest = new Backoff(100, 60_000, () => 1);
    const log = pino({ level: 'silent' });
    const made = new ConfigStatus({ provider: foo, platform: this.client, log, contest });
    this.reporters.push(made);
    return made;
  }

  get reasons(): string[] {
    return (this.object.status?.conditions ?? []).map(({ reason }) => reason);
  }
}

let config = new Config();

afterEach(() => {
  for (const each of config.reporters) each.stop();
  config = new Config();
});

const refused = notProvisioned(new RuntimeError('INVALID_PROVIDER', 'too new'));

test('what is reported is written once', async () => {
  const one = config.reporter();
  one.report([provisioned(), endpoints(2)]);
  await eventually('written', () => config.writes === 1);
  one.refresh();
  one.report([provisioned(), endpoints(2)]);
  await sleep(50);
  expect(config.writes).toBe(1);
  expect(config.reasons).toEqual(['Provisioned', 'Bound']);
});

test('two that disagree have their say ever more rarely', async () => {
  const [one, two] = [config.reporter(), config.reporter()];
  one.report([provisioned()]);
  two.report([refused]);
  await sleep(2_000);
  // Each at 0, 0.1, 0.3, 0.7, 1.5 s, and what that crosses.
  expect(config.writes).toBeLessThanOrEqual(14);
  expect(config.writes).toBeGreaterThan(4);
});

test('something new is said at once, however contested what was said before', async () => {
  const [one, two] = [config.reporter(), config.reporter()];
  one.report([provisioned()]);
  two.report([refused]);
  await sleep(1_000);
  two.report(undefined);
  one.report([provisioned(), endpoints(1)]);
  // The pause of before would have been half a second more.
  await sleep(200);
  expect(config.reasons).toEqual(['Provisioned', 'Bound']);
});

test('who has the word no more leaves what another one says', async () => {
  const [one, two] = [config.reporter(), config.reporter()];
  one.report([provisioned()]);
  await eventually('written', () => config.writes === 1);
  one.report(undefined);
  two.report([refused]);
  await eventually('written', () => config.writes === 2);
  one.refresh();
  await sleep(300);
  expect(config.writes).toBe(2);
  expect(config.reasons).toEqual(['IncompatibleSchema']);
});
