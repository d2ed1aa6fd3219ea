import { afterAll, beforeAll, expect, test } from 'vitest';
import { isUnauthorized } from '../../shared/kube/api-error.ts';
import { clientFor } from '../../shared/kube/connect.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { formatKubeconfig, parseKubeconfig } from '../../shared/kube/kubeconfig.ts';
import {
  ACCESS_REQUESTS,
  CLUSTER_ROLE_BINDINGS,
  CONFIG_MAPS,
  SECRETS,
  SERVICE_ACCOUNTS,
} from '../../shared/kube/resources.ts';
import type { AccessRequest, Secret } from '../../shared/model/access.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { mcpNamespace } from '../../shared/names.ts';
import { conditionOf } from '../../shared/status.ts';
import { issueToken } from '../support/cluster-provider/access.ts';
import { ACCESS_NAMESPACE } from '../support/cluster-provider/rights.ts';
import { isReady } from '../support/orders.ts';
import { install, probe } from '../support/probe.ts';
import { configMapValue } from '../support/requests.ts';
import { createStage, PROJECT, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

/** Done between the moment in which a call has its clients and the one in which it uses them. */
let hold: (() => Promise<void>) | undefined;
const embedded: string[] = [];

const embedding = probe('embedding', {
  async createOrUpdate(ctx, object) {
    const held = hold;
    hold = undefined;
    await held?.();
    embedded.push(ctx.mcp.kubeconfig);
    await install(ctx.mcp.client, object);
  },
});

let stage: Stage;
let platform: HttpKubeClient;
const clusters = new Map<string, HttpKubeClient>();
const cluster = (name: string) => clusters.get(name) as HttpKubeClient;
const NAMESPACE = mcpNamespace('a', PROJECT);
let account: string | undefined;

beforeAll(async () => {
  stage = await createStage({ provider: embedding.provider });
  platform = stage.landscape.platform.client;
  await Promise.all([
    ...['a', 'b'].map(async (name) =>
      clusters.set(name, (await stage.landscape.createControlPlane(PROJECT, name)).client),
    ),
    stage.run(),
  ]);
  for (const name of clusters.keys()) await stage.orders.create(name, 'one');
  for (const name of clusters.keys()) await stage.orders.untilReady(name);
});

afterAll(() => stage?.stop());

/** The same Secret with another identity's token; the one of before is revoked with its ServiceAccount. */
async function rotate(next: string): Promise<string> {
  const request = await platform.get<AccessRequest>(ACCESS_REQUESTS, 'embedding--a--mcp', NAMESPACE);
  const name = request?.status?.secretRef?.name ?? '';
  const secret = await platform.get<Secret>(SECRETS, name, NAMESPACE);
  const client = cluster('a');
  await client.apply(SERVICE_ACCOUNTS, { metadata: { name: next, namespace: ACCESS_NAMESPACE } });
  await client.apply(CLUSTER_ROLE_BINDINGS, {
    metadata: { name: next },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name: next, namespace: ACCESS_NAMESPACE }],
  } as KubeObject);
  const { token } = await issueToken(client, ACCESS_NAMESPACE, next, 3600);
  const old = parseKubeconfig(Buffer.from(secret?.data?.['kubeconfig'] ?? '', 'base64').toString(), 'the Secret');
  const kubeconfig = formatKubeconfig({ ...old, token });
  const data = { kubeconfig: Buffer.from(kubeconfig).toString('base64') };
  await platform.mergePatch(SECRETS, name, { data }, { namespace: NAMESPACE });
  await client.delete(SERVICE_ACCOUNTS, account ?? `access-${request?.metadata.uid}`, { namespace: ACCESS_NAMESPACE });
  account = next;
  await eventually('the old token is not known any more', async () =>
    isUnauthorized(
      await clientFor(old)
        .get(CONFIG_MAPS, 'any', 'default')
        .catch((error: unknown) => error),
    ),
  );
  return kubeconfig;
}

test('a token that is replaced runs its own object again, and no other', async () => {
  await stage.idle();
  const others = embedding.installs('b');
  const kubeconfig = await rotate('first');
  await eventually('the new one is embedded', () => embedded.includes(kubeconfig));
  await stage.idle();
  expect(embedding.installs('b')).toBe(others);
  await stage.orders.until('a', 'Ready', isReady);
});

test('and is used by all that follows, without a restart', async () => {
  await stage.orders.change('a', 'two');
  const object = await stage.orders.untilReady('a');
  expect(conditionOf(object, 'Ready')?.status).toBe('True');
  expect(await configMapValue(cluster('a'), 'probe-a')).toBe('two');
});

test('a run that has begun with the old one goes on with the new one', async () => {
  await stage.idle();
  const earlier = stage.steps.length;
  let rotations = 0;
  hold = async () => {
    rotations += 1;
    await rotate('second');
  };
  await stage.orders.change('a', 'three');
  await stage.orders.untilReady('a');
  expect(rotations).toBe(1);
  expect(await configMapValue(cluster('a'), 'probe-a')).toBe('three');
  // The very run in which the token was revoked came to its end.
  await stage.idle();
  expect(stage.steps.slice(earlier).map(({ outcome }) => outcome.kind)).not.toContain('failed');
});
