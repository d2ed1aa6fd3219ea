import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serveHealth } from '../../deploy/command/health.ts';
import { createMetrics } from '../../deploy/command/metrics.ts';
import foo from '../../functions/providers/foo/provider.ts';
import { EVENTS } from '../../shared/kube/resources.ts';
import { createLogger } from '../../shared/log.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { conditionOf } from '../../shared/status.ts';
import { freePort } from '../control-planes/ports.ts';
import { LeakyStage } from '../support/leaky-stage.ts';
import { readiness } from '../support/metrics-client.ts';
import { RESOLVED } from '../support/providers/leaky-foo.ts';
import { type Credential, scan, textsInClusters, textsInFiles } from '../support/secret-scan.ts';

const FOOS = foo.api.type;
const NAME = 'cp';
const CANARY: Credential = { name: 'canary', value: `canary-${randomBytes(30).toString('hex')}` };

let leaky: LeakyStage;

beforeAll(async () => {
  leaky = await LeakyStage.start(NAME);
});

afterAll(() => leaky?.stop());

test('the scanner finds what was planted where people and programs look', async () => {
  const { value } = CANARY;
  const { services } = leaky.stage.landscape;
  const metadata = { name: 'planted', namespace: 'default' };
  const involvedObject = { kind: 'Foo', namespace: 'default', name: 'planted' };
  await services.client.create(EVENTS, { metadata, involvedObject, message: `with ${value}` } as KubeObject);
  await leaky.platform.mergePatch(foo.config.type, 'foo', { metadata: { annotations: { planted: value } } });
  const client = leaky.stage.landscape.onboarding.client;
  await client.create(FOOS, {
    metadata: { ...metadata, annotations: { 'openmcp.cloud/operation': 'ignore' } },
    spec: {},
  } as KubeObject);
  const resources = [{ kind: 'X', name: 'x', phase: 'Failed', message: `with ${value}` }];
  const status = { phase: 'Progressing', observedGeneration: 1, resources };
  await client.mergePatch(FOOS, 'planted', { status }, { namespace: 'default', subresource: 'status' });
  const port = await freePort();
  const probes = await serveHealth(`127.0.0.1:${port}`, {
    problems: () => [`no access with ${value}`],
    mayReadDetails: () => Promise.resolve(true),
    log: createLogger('error', 'planted', join(leaky.stage.landscape.dir, 'probes.log')),
  });
  const metrics = createMetrics(value);
  try {
    const details = await readiness(`http://127.0.0.1:${port}/readyz`, 'any');
    const found = scan(
      [
        ...(await textsInClusters([services.client, leaky.platform, client], [FOOS, foo.config.type, EVENTS])),
        { place: 'readyz', text: details.text },
        { place: 'metrics', text: await metrics.text() },
      ],
      [CANARY],
    ).map(({ place }) => place.split(' ').slice(-2).join(' '));
    expect([...new Set(found)].sort()).toEqual([
      'Event planted',
      'Foo planted',
      'ProviderConfig foo',
      'metrics',
      'readyz',
    ]);
    expect((await readiness(`http://127.0.0.1:${port}/readyz`)).text).toBe('not ready\n');
  } finally {
    await probes?.close();
    await client.delete(FOOS, 'planted', { namespace: 'default' });
    await services.client.delete(EVENTS, 'planted', { namespace: 'default' });
    await leaky.platform.mergePatch(foo.config.type, 'foo', { metadata: { annotations: { planted: null } } });
  }
});

test.each(['standard', 'kcp'])(
  'nothing that a tenant reads holds an address, account or namespace of the platform: %s mode',
  async (mode) => {
    await leaky.ordersOf(mode).create(NAME, 'install');
    await leaky.ordersOf(mode).untilReady(NAME);
    await leaky.ordersOf(mode).change(NAME, 'report-internals');
    const reported = await leaky.untilSaid(mode, NAME, 'Looking', 2);
    const { message = '' } = conditionOf(reported, 'Ready') ?? {};
    expect(message).toMatch(/User "\[account\]" cannot list resource "secrets".* at \[address\] in \[namespace\]/);
    expect(message).toMatch(/Secret x: connect ECONNREFUSED \[address\]; \[redacted\].* \(reference [a-z2-7]{8}\)$/);
    const fields = reported.status as Record<string, unknown>;
    expect(fields['foo']).toMatch(/connect ECONNREFUSED \[address\]/);
    expect(fields['resources']).toMatchObject([{ namespace: '[namespace]' }]);
    expect(scan(await leaky.tenantsTexts(mode), [...leaky.internals(mode), ...leaky.credentials()])).toEqual([]);
    const [, reference = ''] = /\(reference ([a-z2-7]{8})\)$/.exec(message) ?? [];
    const kept = textsInFiles(leaky.logFile)[0]
      ?.text.split('\n')
      .find((line) => line.includes(reference));
    expect(kept).toContain(RESOLVED);
    expect(scan(await leaky.everyText(), leaky.credentials())).toEqual([]);

    await leaky.ordersOf(mode).change(NAME, 'throw-internals');
    const thrown = await leaky.untilSaid(mode, NAME, 'ReconcileError', 3);
    expect(conditionOf(thrown, 'Ready')?.message).toMatch(/^deep inside: .*ECONNREFUSED \[address\] \(reference/);
    expect(scan(await leaky.tenantsTexts(mode), [...leaky.internals(mode), ...leaky.credentials()])).toEqual([]);

    await leaky.ordersOf(mode).change(NAME, 'throw-denied');
    const denied = await leaky.untilSaid(mode, NAME, 'ReconcileError', 4);
    expect(conditionOf(denied, 'Ready')?.message).toMatch(/was denied: cannot list secrets \(reference [a-z2-7]{8}\)$/);
    expect(scan(await leaky.tenantsTexts(mode), [...leaky.internals(mode), ...leaky.credentials()])).toEqual([]);
  },
);
