import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { Leader } from '../../bridge/lead/leader.ts';
import { LEASES } from '../../shared/kube/resources.ts';
import { createLogger } from '../../shared/log.ts';
import type { KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { type KubeApiserver, startKubeApiserver } from '../control-planes/kube-apiserver.ts';
import { eventually } from '../support/wait.ts';

const LEASE_MS = 2_000;
type Lease = KubeObjectOf<{ spec: { holderIdentity?: string; renewTime?: string; leaseTransitions?: number } }>;

let server: KubeApiserver;
const leaders: Leader[] = [];

beforeAll(async () => {
  server = await startKubeApiserver({ dir: join(inject('runFolder'), 'leader') });
});

afterAll(async () => {
  for (const leader of leaders) await leader.stop();
  await server?.stop();
});

function candidate(identity: string): { leader: Leader; changes: boolean[] } {
  const changes: boolean[] = [];
  const leader = new Leader({
    platform: server.admin,
    name: 'foo-standard',
    namespace: 'default',
    identity,
    leaseMs: LEASE_MS,
    log: createLogger('info', identity, join(inject('runFolder'), 'leader', `${identity}.log`)),
    onChange: (leads) => changes.push(leads),
  });
  leaders.push(leader);
  leader.start();
  return { leader, changes };
}

const lease = () => server.admin.get<Lease>(LEASES, 'foo-standard', 'default');
const renewedAfter = (before: string | undefined) =>
  eventually('the Lease is renewed', async () => {
    const now = (await lease())?.spec.renewTime;
    return now !== undefined && now !== before && now;
  });

test('one leads, and goes on while the platform cluster is away; the other follows when it gives up', async () => {
  const one = candidate('one');
  await eventually('one leads', () => one.leader.leads);
  const two = candidate('two');
  // Both have looked several times.
  await renewedAfter(await renewedAfter((await lease())?.spec.renewTime));
  expect(two.changes).toEqual([]);

  server.apiserver.signal('SIGSTOP');
  const frozenAt = Date.now();
  await eventually('longer than a Lease lasts', () => Date.now() - frozenAt > 3 * LEASE_MS);
  expect(one.leader.leads).toBe(true);
  server.apiserver.signal('SIGCONT');
  await renewedAfter((await lease())?.spec.renewTime);
  expect(one.changes).toEqual([true]);
  expect(two.changes).toEqual([]);

  await one.leader.stop();
  expect(one.changes).toEqual([true, false]);
  await eventually('two leads', () => two.leader.leads);
  expect((await lease())?.spec).toMatchObject({ holderIdentity: 'two', leaseTransitions: 1 });
});

test('who reads that another one has taken over gives way', async () => {
  const [, two] = leaders as [Leader, Leader];
  const before = await lease();
  const spec = { holderIdentity: 'three', renewTime: before?.spec.renewTime, leaseTransitions: 2 };
  await server.admin.mergePatch(LEASES, 'foo-standard', { spec }, { namespace: 'default' });
  await eventually('two gives way', () => !two.leads);
  await eventually('and takes it again when the other one is silent', () => two.leads);
  expect((await lease())?.spec.holderIdentity).toBe('two');
});
