import { afterAll, beforeAll, expect, test } from 'vitest';
import { existingCluster, existingRequest, requestNamespaces } from '../../shared/provider/registration.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { ACCESS_REQUESTS, CLUSTER_PROFILES, CLUSTERS, CONFIG_MAPS, SECRETS } from '../../shared/kube/resources.ts';
import type { AccessRequest, Secret } from '../../shared/model/access.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { managedLabels, mcpNamespace, REQUEST_FINALIZER } from '../../shared/names.ts';
import { conditionOf } from '../../shared/status.ts';
import { requestCluster } from '../support/control-plane.ts';
import { SYSTEM_NAMESPACE } from '../support/landscape-options.ts';
import { ordersIn } from '../support/orders.ts';
import { install, MANAGE_CONFIG_MAPS, probe } from '../support/probe.ts';
import { requestsIn } from '../support/requests.ts';
import { installProvider } from '../support/service.ts';
import { createStage, PROJECT, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

const refusing = probe('refusing');

let stage: Stage;
let platform: HttpKubeClient;

const access = (name: string, namespace: string) => platform.get<AccessRequest>(ACCESS_REQUESTS, name, namespace);
const reconcile = (name: string) =>
  stage.landscape.onboarding.client.mergePatch(
    refusing.provider.api.type,
    name,
    { metadata: { annotations: { 'openmcp.cloud/operation': 'reconcile' } } },
    { namespace: PROJECT },
  );

beforeAll(async () => {
  stage = await createStage({ provider: refusing.provider });
  platform = stage.landscape.platform.client;
  await stage.run();
});

afterAll(() => stage?.stop());

test('a request of that name that belongs to somebody else is left alone, and said', async () => {
  const namespace = mcpNamespace('foreign', PROJECT);
  await stage.landscape.createControlPlane(PROJECT, 'foreign');
  const theirs = await platform.create<AccessRequest>(ACCESS_REQUESTS, {
    metadata: { name: 'refusing--foreign--mcp', namespace, labels: { 'openmcp.cloud/managed-by': 'somebody' } },
    spec: { requestRef: { name: 'foreign', namespace }, token: {} },
  });
  await stage.orders.create('foreign', 'one');
  const refused = await stage.orders.untilReason('foreign', 'ForeignRequest');
  expect(refused.status?.phase).toBe('Progressing');
  expect(conditionOf(refused, 'Ready')?.message).toContain(
    'AccessRequest refusing--foreign--mcp already exists but is not managed by this controller',
  );
  expect(refusing.installs('foreign')).toBe(0);
  const untouched = await access('refusing--foreign--mcp', namespace);
  expect(untouched?.metadata).toMatchObject({ uid: theirs.metadata.uid, labels: theirs.metadata.labels ?? {} });
  expect(untouched?.metadata.finalizers ?? []).not.toContain('clusters.openmcp.cloud/clusteraccess');
  expect(untouched?.spec.token).toEqual({});

  await platform.delete(ACCESS_REQUESTS, 'refusing--foreign--mcp', { namespace });
  await eventually('it is gone', async () => (await access('refusing--foreign--mcp', namespace)) === undefined);
  await reconcile('foreign');
  const ready = await stage.orders.untilReady('foreign');
  expect(ready.metadata.annotations?.['openmcp.cloud/operation']).toBeUndefined();
  await stage.orders.remove('foreign');
  await stage.orders.untilGone('foreign');
});

test('a denied request is said in the words of who denied it, and the object can still be deleted', async () => {
  const namespace = mcpNamespace('denied', PROJECT);
  await stage.landscape.createControlPlane(PROJECT, 'denied');
  stage.landscape.clusterProvider.denyWhen(({ metadata }) =>
    metadata.namespace === namespace ? 'too many rights for a Friday' : undefined,
  );
  await stage.orders.create('denied', 'one');
  const refused = await stage.orders.untilReason('denied', 'AccessDenied');
  expect(conditionOf(refused, 'Ready')?.message).toMatch(/was denied: too many rights for a Friday/);
  expect(refusing.installs('denied')).toBe(0);
  await stage.orders.remove('denied');
  await stage.orders.untilGone('denied');
  expect(refusing.deletes('denied')).toBe(0);
  expect(await requestsIn(platform, namespace, 'refusing--')).toEqual([]);
  stage.landscape.clusterProvider.denyWhen(undefined);
});

/** The kubeconfig of a login by an identity provider runs a program; that is what such a Secret really holds. */
const PEOPLE_KUBECONFIG = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'c',
  clusters: [{ name: 'c', cluster: { server: 'https://people.example' } }],
  contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  users: [{ name: 'u', user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'kubelogin' } } }],
});
const LOGIN = {
  name: 'people',
  issuer: 'https://idp.example',
  clientID: 'console',
  roleBindings: [
    {
      subjects: [{ kind: 'Group' as const, name: 'admins' }],
      roleRefs: [{ kind: 'ClusterRole' as const, name: 'view' }],
    },
  ],
};

test('access for people is ordered as asked, and handed on without being used', async () => {
  const seen: { kubeconfig?: string; problem?: string } = {};
  const people = probe('people', {
    access: {
      mcp: MANAGE_CONFIG_MAPS,
      clusters: {
        console: existingCluster({
          cluster: { name: 'by-hand', namespace: SYSTEM_NAMESPACE },
          namespace: requestNamespaces.mcp,
          access: (_object, config) => ({ oidc: { ...LOGIN, groupsPrefix: config.greeting ?? '' } }),
        }),
      },
    },
    async createOrUpdate(ctx, object) {
      const { console } = ctx.clusters;
      seen.kubeconfig = console?.kubeconfig ?? '';
      await console?.client.get(CONFIG_MAPS, 'any', 'default').catch((error: Error) => (seen.problem = error.message));
      await install(ctx.mcp.client, object);
    },
  });
  await installProvider(stage.landscape, people.provider);
  await stage.landscape.createControlPlane(PROJECT, 'console');
  await stage.run({ provider: people.provider });
  const orders = ordersIn(stage.landscape.onboarding.client, people.provider.api.type, PROJECT);
  await orders.create('console', 'one');
  const missing = await orders.untilReason('console', 'ClusterNotFound');
  expect(conditionOf(missing, 'Ready')?.message).toContain(
    'Cluster by-hand, which access.clusters.console names, does not exist',
  );

  // A cluster whose provider offers logins; that provider is this test.
  await platform.create(CLUSTER_PROFILES, {
    metadata: { name: 'by-hand' },
    spec: {
      providerRef: { name: 'by-hand' },
      providerConfigRef: { name: 'by-hand' },
      supportedVersions: [{ version: '1.34.0' }],
    },
  } as KubeObject);
  await platform.create(CLUSTERS, {
    metadata: { name: 'by-hand', namespace: SYSTEM_NAMESPACE },
    spec: { profile: 'by-hand', purposes: ['console'], tenancy: 'Shared' },
  } as KubeObject);
  const namespace = mcpNamespace('console', PROJECT);
  const request = await eventually('login is ordered', async () => {
    const found = await access('people--console--console', namespace);
    // The operator has seen to it.
    return found?.metadata.labels?.['clusters.openmcp.cloud/provider'] === 'by-hand' && found;
  });
  expect(request.spec).toEqual({
    clusterRef: { name: 'by-hand', namespace: SYSTEM_NAMESPACE },
    oidc: { ...LOGIN, groupsPrefix: '', groupsClaim: 'groups', usernameClaim: 'sub' },
  });
  await platform.create<Secret>(SECRETS, {
    metadata: { name: 'login', namespace },
    data: { kubeconfig: Buffer.from(PEOPLE_KUBECONFIG).toString('base64') },
  });
  const status = { phase: 'Granted', observedGeneration: request.metadata.generation, secretRef: { name: 'login' } };
  await platform.mergePatch(ACCESS_REQUESTS, request.metadata.name, { status }, { namespace, subresource: 'status' });
  await orders.untilReady('console');
  expect(seen.kubeconfig).toBe(PEOPLE_KUBECONFIG);
  expect(seen.problem).toContain('is an oidc login for people: use its kubeconfig or secretRef, not its client');
  // Asked for in full once, and not again and again because of the defaults that the server fills in.
  expect((await access('people--console--console', namespace))?.metadata.generation).toBe(request.metadata.generation);
  await orders.remove('console');
  await orders.untilGone('console');
  expect(await requestsIn(platform, namespace, 'people--')).toEqual([]);
});

test('an object that another runtime left in the middle of its first installation is uninstalled', async () => {
  const later = probe('later');
  await installProvider(stage.landscape, later.provider);
  const { client } = await stage.landscape.createControlPlane(PROJECT, 'left');
  const namespace = mcpNamespace('left', PROJECT);
  const orders = ordersIn(stage.landscape.onboarding.client, later.provider.api.type, PROJECT);
  // What the other one leaves behind: finalizer, granted request, something installed; no condition.
  const left = await orders.create('left', 'one');
  await stage.landscape.onboarding.client.mergePatch(
    later.provider.api.type,
    'left',
    { metadata: { finalizers: [later.provider.finalizer] } },
    { namespace: PROJECT },
  );
  await platform.create<AccessRequest>(ACCESS_REQUESTS, {
    metadata: {
      name: 'later--left--mcp',
      namespace,
      labels: managedLabels('later', { namespace: PROJECT, name: 'left' }, 'mcp'),
      finalizers: [REQUEST_FINALIZER],
    },
    spec: { requestRef: { name: 'left', namespace }, token: { permissions: MANAGE_CONFIG_MAPS.permissions ?? [] } },
  });
  await client.apply(CONFIG_MAPS, { metadata: { name: 'probe-left', namespace: 'default' } });
  await orders.remove('left');
  expect(left.status).toBeUndefined();

  await stage.run({ provider: later.provider });
  await orders.untilGone('left');
  expect(later.deletes('left')).toBeGreaterThan(0);
  expect(await client.get(CONFIG_MAPS, 'probe-left', 'default')).toBeUndefined();
  expect(await requestsIn(platform, namespace, 'later--')).toEqual([]);
});

test('an existing request that is missing or waits is looked for again', async () => {
  const waiting = probe('waiting', {
    access: {
      mcp: MANAGE_CONFIG_MAPS,
      clusters: {
        other: existingRequest({
          request: { name: 'to-come', namespace: SYSTEM_NAMESPACE },
          namespace: requestNamespaces.mcp,
          access: MANAGE_CONFIG_MAPS,
        }),
      },
    },
  });
  await installProvider(stage.landscape, waiting.provider);
  await stage.landscape.createControlPlane(PROJECT, 'patient');
  await stage.run({ provider: waiting.provider });
  const orders = ordersIn(stage.landscape.onboarding.client, waiting.provider.api.type, PROJECT);
  await orders.create('patient', 'one');
  const missing = await orders.untilReason('patient', 'ClusterRequestNotFound');
  expect(conditionOf(missing, 'Ready')?.message).toContain('ClusterRequest to-come');
  expect(waiting.installs('patient')).toBe(0);
  await requestCluster(platform, SYSTEM_NAMESPACE, 'to-come', 'workload');
  await orders.untilReady('patient');
  await orders.remove('patient');
  await orders.untilGone('patient');
});
