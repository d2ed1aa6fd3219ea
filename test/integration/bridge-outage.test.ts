import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { DEFAULT_WATCH_TUNING } from '../../bridge/tuning.ts';
import { foo } from '../../functions/providers/foo/provider.ts';
import { clientFor } from '../../shared/kube/connect.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { CLUSTER_ROLE_BINDINGS, CRDS, SERVICE_ACCOUNTS } from '../../shared/kube/resources.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { type StartedKcp, startKcp } from '../control-planes/kcp.ts';
import { ensureNamespace, issueToken } from '../support/cluster-provider/access.ts';
import { installCrds } from '../support/crds.ts';
import { eventually } from '../support/wait.ts';
import { createWorkspace, type TenantWorkspace } from '../support/workspaces.ts';
import {
  becomesReady,
  createFoo,
  NAMESPACE,
  type Receiver,
  type Rig,
  type RunningBridge,
  startRig,
} from './bridge-harness.ts';

const FOOS = foo.api.type;
const SILENCE_LIMIT_MS = 5_000;

let kcp: StartedKcp;
let home: TenantWorkspace;
let client: HttpKubeClient;
let rig: Rig;
let receiver: Receiver;
let running: RunningBridge;

// One workspace as platform and onboarding cluster of a kcp of its own, since it is frozen and killed.
beforeAll(async () => {
  const dir = join(inject('runFolder'), 'outage');
  kcp = await startKcp({ dir });
  home = await createWorkspace(kcp.admin, 'root', 'home');
  client = await lastingAdmin(home);
  const watch = { ...DEFAULT_WATCH_TUNING, backoffLimitMs: 2_000, silenceLimitMs: SILENCE_LIMIT_MS };
  rig = await startRig(dir, { platform: client, onboarding: client }, { watch });
  ({ receiver, running } = rig);
}, 180_000);

afterAll(async () => {
  await rig?.stop();
  await kcp?.stop();
});

/** An administrator whose token outlives the server's restart, unlike that of kcp's own. */
async function lastingAdmin({ client }: TenantWorkspace): Promise<HttpKubeClient> {
  const [name, namespace] = ['admin', NAMESPACE];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
  const subjects = [{ kind: 'ServiceAccount', name, namespace }];
  await ensureNamespace(client, namespace);
  await client.apply(SERVICE_ACCOUNTS, { metadata: { name, namespace } });
  await client.apply(CLUSTER_ROLE_BINDINGS, { metadata: { name }, roleRef, subjects } as KubeObject);
  const { token } = await issueToken(client, namespace, name, 86_400);
  return clientFor({ server: client.server, ca: kcp.adminCredentials.ca, token });
}

const reasonsSince = (since: number): string[] =>
  receiver.events.slice(since).map(({ key, reason }) => `${key.name} ${reason}`);

test('a server that froze is noticed, and what was missed is found', async () => {
  await createFoo(client, 'frozen');
  await receiver.next('frozen', 'Added');
  const since = receiver.events.length;
  kcp.process.signal('SIGSTOP');
  try {
    await eventually('not ready', () => running.bridge.ready().length > 0, { timeout: 60_000 });
  } finally {
    kcp.process.signal('SIGCONT');
  }
  await createFoo(client, 'missed');
  await receiver.next('missed', 'Added');
  await becomesReady(running);
  expect(reasonsSince(since)).toEqual(['missed Added']);
});

test('after a restart of the server one list tells what changed meanwhile, and nothing else', async () => {
  await Promise.all(
    ['changed', 'deleted', 'untouched'].map((name) => createFoo(client, name, { finalizers: ['example.org/test'] })),
  );
  for (const name of ['changed', 'deleted', 'untouched']) await receiver.next(name, 'Added');
  const since = receiver.events.length;
  const { server } = client;
  await kcp.process.kill();
  await eventually('not ready', () => running.bridge.ready().length > 0);
  kcp = await startKcp({ dir: join(inject('runFolder'), 'outage'), port: Number(new URL(server).port) });
  await eventually('the token is good again', () => client.list(FOOS));
  await Promise.all([
    client.mergePatch(FOOS, 'changed', { spec: { foo: '2' } }, { namespace: NAMESPACE }),
    client.delete(FOOS, 'deleted', { namespace: NAMESPACE }),
  ]);
  await receiver.next('changed', 'Changed', since);
  await receiver.next('deleted', 'Deleting', since);
  await becomesReady(running);
  expect(reasonsSince(since).sort()).toEqual(['changed Changed', 'deleted Deleting']);
}, 180_000);

test('a type that is deleted and installed again is followed again, and its absence deletes nothing', async () => {
  const since = receiver.events.length;
  const crd = foo.config.crd() as KubeObject;
  await client.delete(CRDS, crd.metadata.name);
  await eventually('not ready', () => running.bridge.ready().some((problem) => problem.startsWith('ProviderConfig')));
  await sleep(1_000);
  expect(reasonsSince(since)).toEqual([]);
  await eventually('the CRD is gone', async () => (await client.get(CRDS, crd.metadata.name)) === undefined);
  await installCrds(client, [crd]);
  await becomesReady(running);
  await client.apply(foo.config.type, { metadata: { name: 'foo' }, spec: {} } as KubeObject);
  expect((await receiver.next('untouched', 'ProviderConfigChanged', since)).key.mode).toBe('standard');
});

test('a Redis that froze is noticed, and what changed meanwhile is told once it goes on', async () => {
  rig.redis.signal('SIGSTOP');
  const since = receiver.events.length;
  try {
    await client.mergePatch(FOOS, 'untouched', { spec: { foo: 'frozen' } }, { namespace: NAMESPACE });
    const problem = await eventually('not ready', () => running.bridge.ready()[0], { timeout: 40_000 });
    expect(problem).toContain('queue:');
  } finally {
    rig.redis.signal('SIGCONT');
  }
  await receiver.next('untouched', 'Changed', since);
  await becomesReady(running);
});
