import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { clientFor } from '../../shared/kube/connect.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { kubeconfigFromSecret, parseKubeconfig } from '../../shared/kube/kubeconfig.ts';
import {
  ACCESS_REQUESTS,
  CLUSTER_REQUESTS,
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  CLUSTERS,
  CONFIG_MAPS,
  SECRETS,
  SERVICE_ACCOUNTS,
} from '../../shared/kube/resources.ts';
import type { AccessRequest, PolicyRule, Secret } from '../../shared/model/access.ts';
import { connectKcp } from '../control-planes/kcp.ts';
import { allowed, refused } from '../support/calls.ts';
import { ACCESS_NAMESPACE, REQUEST_UID_LABEL } from '../support/cluster-provider/rights.ts';
import { requestCluster, type ControlPlane } from '../support/control-plane.ts';
import { recordHistory } from '../support/history.ts';
import { createLandscape, type Landscape } from '../support/landscape.ts';
import type { Cluster } from '../support/openmcp.ts';
import { eventually } from '../support/wait.ts';

const FOREIGN_FINALIZER = 'test.example.org/held';
const READ_CONFIG_MAPS: PolicyRule[] = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] }];

let landscape: Landscape;
let controlPlane: ControlPlane;
let platform: HttpKubeClient;

beforeAll(async () => {
  landscape = await createLandscape({ kcp: connectKcp(inject('kcpKubeconfig')), dir: inject('runFolder') });
  platform = landscape.platform.client;
  controlPlane = await landscape.createControlPlane('project-a', 'cp');
});

afterAll(() => landscape?.stop());

const namespaced = (name: string) => ({ name, namespace: controlPlane.platformNamespace });

async function requestAccess(name: string, rules: PolicyRule[], finalizers: string[] = []): Promise<void> {
  const requestRef = namespaced(controlPlane.name);
  await platform.create<AccessRequest>(ACCESS_REQUESTS, {
    metadata: { ...namespaced(name), finalizers },
    spec: { requestRef, token: { permissions: [{ rules }] } },
  });
}

const read = (name: string) => platform.get<AccessRequest>(ACCESS_REQUESTS, name, controlPlane.platformNamespace);

const inPhase = (name: string, phase: string) =>
  eventually(`AccessRequest ${name} is ${phase}`, async (seen) => {
    const request = await read(name);
    seen(request);
    const { observedGeneration, phase: present } = request?.status ?? {};
    return present === phase && observedGeneration === request?.metadata.generation && request;
  });

async function clientOf(request: AccessRequest): Promise<HttpKubeClient> {
  const name = request.status?.secretRef?.name ?? '';
  const secret = await platform.get<Secret>(SECRETS, name, controlPlane.platformNamespace);
  expect(Object.keys(secret?.data ?? {}).sort()).toEqual(['creationTimestamp', 'expirationTimestamp', 'kubeconfig']);
  return clientFor(parseKubeconfig(kubeconfigFromSecret(secret as Secret, name), name));
}

describe('requests of clusters', () => {
  test('shared purposes share a cluster, and the onboarding one is the workspace that was there', async () => {
    const one = await requestCluster(platform, controlPlane.platformNamespace, 'first', 'workload');
    const two = await requestCluster(platform, controlPlane.platformNamespace, 'second', 'workload');
    expect(two).toEqual(one);
    const onboarding = await requestCluster(platform, controlPlane.platformNamespace, 'third', 'onboarding');
    const client = await landscape.clusterClient(onboarding.namespace, onboarding.name);
    expect(client.server).toBe(landscape.onboarding.client.server);
  });

  test('a cluster that nobody requests any more goes, and its workspace with it', async () => {
    const other = await landscape.createControlPlane('project-a', 'short-lived');
    await platform.delete(CLUSTER_REQUESTS, other.name, { namespace: other.platformNamespace });
    await eventually(
      'the Cluster is gone',
      async (seen) => {
        const cluster = await platform.get<Cluster>(CLUSTERS, other.cluster.name, other.cluster.namespace);
        seen(cluster);
        return !cluster;
      },
      { timeout: 60_000 },
    );
    expect(await refused(() => other.client.list(CONFIG_MAPS))).toBe(true);
  });
});

describe('requests of access', () => {
  test('a granted kubeconfig may do what was asked, in its cluster, and nothing else', async () => {
    await requestAccess('reader', READ_CONFIG_MAPS);
    const client = await clientOf(await inPhase('reader', 'Granted'));
    await allowed(() => client.list(CONFIG_MAPS));
    expect(await refused(() => client.list(SECRETS))).toBe(true);
    const object = { metadata: { name: 'denied', namespace: 'default' } };
    expect(await refused(() => client.create(CONFIG_MAPS, object))).toBe(true);
    const elsewhere = client.at(landscape.onboarding.client.server);
    expect(await refused(() => elsewhere.list(CONFIG_MAPS))).toBe(true);
  });

  test('a changed request gets what it asks for now and loses what it does not', async () => {
    await requestAccess('changing', READ_CONFIG_MAPS);
    const before = await clientOf(await inPhase('changing', 'Granted'));
    await allowed(() => before.list(CONFIG_MAPS));
    const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['list'] }];
    const patch = { spec: { token: { permissions: [{ name: 'test:changing', rules }] } } };
    await platform.mergePatch(ACCESS_REQUESTS, 'changing', patch, { namespace: controlPlane.platformNamespace });
    const changed = await eventually('the change is granted', async () => {
      const request = await read('changing');
      return (
        request?.metadata.generation !== undefined && request.metadata.generation > 2 && inPhase('changing', 'Granted')
      );
    });
    const after = await clientOf(changed);
    await allowed(() => after.list(SECRETS));
    await eventually('the earlier right is gone', () => refused(() => after.list(CONFIG_MAPS)));
    expect(await controlPlane.client.get(CLUSTER_ROLES, 'test:changing')).toBeDefined();
  });

  test('deletion takes back all that was given, before the request goes, and leaves a foreign finalizer', async () => {
    await requestAccess('doomed', READ_CONFIG_MAPS, [FOREIGN_FINALIZER]);
    const granted = await inPhase('doomed', 'Granted');
    const client = await clientOf(granted);
    await allowed(() => client.list(CONFIG_MAPS));
    const types = [SERVICE_ACCOUNTS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS];
    const history = await recordHistory([
      { client: platform, types: [ACCESS_REQUESTS, SECRETS] },
      { client: controlPlane.client, types },
    ]);
    const secret = granted.status?.secretRef?.name ?? '';

    await platform.delete(ACCESS_REQUESTS, 'doomed', { namespace: controlPlane.platformNamespace });
    const held = await eventually('only the foreign finalizer is left', async (seen) => {
      const request = await read('doomed');
      seen(request?.metadata);
      return request?.metadata.finalizers?.length === 1 && request;
    });
    expect(held.metadata.finalizers).toEqual([FOREIGN_FINALIZER]);
    await eventually('the token is refused', () => refused(() => client.list(CONFIG_MAPS)));
    const labelSelector = `${REQUEST_UID_LABEL}=${granted.metadata.uid}`;
    for (const type of types) expect((await controlPlane.client.list(type, { labelSelector })).items).toEqual([]);
    expect(await platform.get(SECRETS, secret, controlPlane.platformNamespace)).toBeUndefined();

    const patch = { metadata: { finalizers: null } };
    await platform.mergePatch(ACCESS_REQUESTS, 'doomed', patch, { namespace: controlPlane.platformNamespace });
    await eventually('the request is gone', async () => !(await read('doomed')));
    const gone = await eventually(
      'the history tells it',
      () => history.of(ACCESS_REQUESTS, { name: 'doomed', type: 'DELETED' })[0],
    );
    const ours = history
      .of(ACCESS_REQUESTS, { name: 'doomed' })
      .find(({ object }) => object.metadata.finalizers?.length === 1);
    const removals = [...types, SECRETS]
      .flatMap((type) => history.of(type, { type: 'DELETED' }))
      .filter(
        ({ name, namespace, object }) =>
          name === secret ||
          namespace === ACCESS_NAMESPACE ||
          object.metadata.labels?.[REQUEST_UID_LABEL] === granted.metadata.uid,
      );
    history.stop();
    expect(removals.map(({ kind }) => kind).sort()).toEqual([
      'ClusterRole',
      'ClusterRoleBinding',
      'Secret',
      'ServiceAccount',
    ]);
    const order = [...removals, ours, gone].map((entry) => Number(entry?.resourceVersion));
    expect(Math.max(...order.slice(0, 4))).toBeLessThan(order[4] as number);
    expect(order[4]).toBeLessThan(order[5] as number);
  });

  test('grants can be held back and requests be denied', async () => {
    landscape.clusterProvider.setAutoGrant(false);
    await requestAccess('held', READ_CONFIG_MAPS);
    await inPhase('held', 'Pending');
    landscape.clusterProvider.denyWhen(({ metadata }) => (metadata.name === 'unwanted' ? 'not for you' : undefined));
    await requestAccess('unwanted', READ_CONFIG_MAPS);
    await inPhase('unwanted', 'Pending');
    expect((await read('held'))?.status?.secretRef).toBeUndefined();
    landscape.clusterProvider.setAutoGrant(true);
    await inPhase('held', 'Granted');
    const denied = await inPhase('unwanted', 'Denied');
    expect(denied.status?.conditions?.[0]).toMatchObject({ reason: 'Denied', message: 'not for you' });
    landscape.clusterProvider.denyWhen(undefined);
    for (const name of ['held', 'unwanted']) {
      await platform.delete(ACCESS_REQUESTS, name, { namespace: controlPlane.platformNamespace });
      await eventually(`${name} is gone`, async () => !(await read(name)));
    }
  });
});
