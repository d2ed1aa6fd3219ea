import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import foo, { configMapName } from '../../functions/providers/foo/provider.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, CONFIG_MAPS } from '../../shared/kube/resources.ts';
import type { AccessRequest, ClusterRequest } from '../../shared/model/access.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { mcpNamespace } from '../../shared/names.ts';
import { conditionOf, hasCondition } from '../../shared/status.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { configMapValue, deletionAsked, inOrder, position, requestsIn } from '../support/requests.ts';
import { writeProviderConfig } from '../support/service.ts';
import { createStage, PROJECT, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

const FOOS = foo.api.type;
const FINALIZER = 'foo.services.open-control-plane.io/finalizer';
const NAME = 'cp';
const MCP_REQUEST = `foo--${NAME}--mcp`;
const WORKLOAD_REQUEST = `foo--${NAME}--wl`;
const ON_MCP = configMapName(`${PROJECT}/${NAME}`);
const ON_WORKLOAD = `${ON_MCP}-wl`;

let stage: Stage;
let controlPlane: ControlPlane;
let workload: HttpKubeClient;
let platform: HttpKubeClient;

beforeAll(async () => {
  stage = await createStage({ provider: foo });
  platform = stage.landscape.platform.client;
  const [made] = await Promise.all([stage.landscape.createControlPlane(PROJECT, NAME), stage.run()]);
  controlPlane = made;
});

afterAll(() => stage?.stop());

const values = async () => [
  await configMapValue(controlPlane.client, ON_MCP),
  await configMapValue(workload, ON_WORKLOAD),
];

describe('a Foo for a control plane, from its creation to its end', () => {
  test('becomes Ready, with access that is ordered once under the names that others know', async () => {
    const history = await stage.record({ client: platform, types: [ACCESS_REQUESTS, CLUSTER_REQUESTS] });
    await stage.orders.create(NAME, 'one');
    const object = await stage.orders.untilReady(NAME);

    expect(object.metadata.finalizers).toEqual([FINALIZER]);
    expect(object.status).toMatchObject({ phase: 'Ready', observedGeneration: 1, foo: 'one' });
    expect(conditionOf(object, 'Ready')).toMatchObject({
      status: 'True',
      reason: 'ReconcileSuccess',
      observedGeneration: 1,
    });
    const namespace = controlPlane.platformNamespace;
    expect(namespace).toMatch(/^mcp--[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    const mcp = await platform.get<AccessRequest>(ACCESS_REQUESTS, MCP_REQUEST, namespace);
    expect(mcp).toMatchObject({
      metadata: {
        labels: { 'openmcp.cloud/managed-by': 'foo', 'openmcp.cloud/managed-purpose': `${PROJECT}.${NAME}.mcp` },
      },
      spec: { requestRef: { name: NAME, namespace } },
      status: { phase: 'Granted' },
    });
    const cluster = await platform.get<ClusterRequest>(CLUSTER_REQUESTS, WORKLOAD_REQUEST, namespace);
    expect(cluster).toMatchObject({ spec: { purpose: 'workload' }, status: { phase: 'Granted' } });
    const access = await platform.get<AccessRequest>(ACCESS_REQUESTS, WORKLOAD_REQUEST, namespace);
    expect(access?.spec.requestRef).toEqual({ name: WORKLOAD_REQUEST, namespace });

    const { cluster: reference } = cluster?.status ?? {};
    workload = await stage.landscape.clusterClient(reference?.namespace ?? '', reference?.name ?? '');
    expect(workload.server).not.toBe(controlPlane.client.server);
    expect(await values()).toEqual(['one', 'one']);
    // Each in its own cluster, and nowhere else.
    expect(await configMapValue(controlPlane.client, ON_WORKLOAD)).toBeUndefined();
    expect(await configMapValue(workload, ON_MCP)).toBeUndefined();

    const added = [ACCESS_REQUESTS, CLUSTER_REQUESTS].flatMap((type) => history.of(type, { type: 'ADDED', namespace }));
    expect(inOrder(added.filter(({ name }) => name !== NAME)).sort()).toEqual([
      `AccessRequest ${MCP_REQUEST}`,
      `AccessRequest ${WORKLOAD_REQUEST}`,
      `ClusterRequest ${WORKLOAD_REQUEST}`,
    ]);
    expect(history.interruptions).toEqual([]);
  });

  test('follows a change of its spec in both clusters', async () => {
    await stage.orders.change(NAME, 'two');
    const object = await stage.orders.untilReady(NAME);
    expect(object.status).toMatchObject({ observedGeneration: 2, foo: 'two' });
    expect(conditionOf(object, 'Ready')).toMatchObject({ status: 'True', observedGeneration: 2 });
    expect(await values()).toEqual(['two', 'two']);
  });

  test('is looked at every poll interval, and nothing is written while all is as it should be', async () => {
    await writeProviderConfig(stage.landscape, foo, { config: { pollInterval: '1s' } });
    await eventually('it is polled', async (seen) => {
      const object = await stage.orders.read(NAME);
      const due = object && (await stage.timer(stage.keyOf(object)));
      seen(due);
      return due !== undefined && due - Date.now() < 2_000;
    });
    const installs = () => stage.steps.filter(({ functionName }) => functionName === 'provider-install').length;
    const versions = async () =>
      Promise.all([
        stage.orders.read(NAME),
        platform.get(ACCESS_REQUESTS, MCP_REQUEST, controlPlane.platformNamespace),
        platform.get(ACCESS_REQUESTS, WORKLOAD_REQUEST, controlPlane.platformNamespace),
        platform.get(CLUSTER_REQUESTS, WORKLOAD_REQUEST, controlPlane.platformNamespace),
        controlPlane.client.get(CONFIG_MAPS, ON_MCP, 'default'),
        workload.get(CONFIG_MAPS, ON_WORKLOAD, 'default'),
      ]).then((objects) => objects.map((object) => object?.metadata.resourceVersion));
    const before = await versions();
    const already = installs();
    await eventually('it was looked at several times', () => installs() >= already + 3);
    expect(await versions()).toEqual(before);
    await writeProviderConfig(stage.landscape, foo, { config: { pollInterval: '1m' } });
  });

  test('is removed in the promised order, and leaves nothing on the platform', async () => {
    const history = await stage.record(
      { client: platform, types: [ACCESS_REQUESTS, CLUSTER_REQUESTS] },
      { client: stage.landscape.onboarding.client, types: [FOOS] },
      { client: controlPlane.client, types: [CONFIG_MAPS] },
      { client: workload, types: [CONFIG_MAPS] },
    );
    await stage.orders.remove(NAME);
    await stage.orders.untilGone(NAME);
    await eventually('the history tells it', () => history.of(FOOS, { type: 'DELETED', name: NAME })[0]);

    const namespace = controlPlane.platformNamespace;
    const gone = (type: typeof FOOS, name: string) => history.of(type, { type: 'DELETED', name })[0];
    const asked = (type: typeof FOOS, name: string) => deletionAsked(history.of(type, { name, namespace }));
    const uninstalled = history.of<ServiceObject>(FOOS).find(({ object }) => hasCondition(object, 'Uninstalled'));
    const steps = [
      Math.max(position(gone(CONFIG_MAPS, ON_MCP)), position(gone(CONFIG_MAPS, ON_WORKLOAD))),
      position(uninstalled),
      position(asked(ACCESS_REQUESTS, WORKLOAD_REQUEST)),
      position(gone(ACCESS_REQUESTS, WORKLOAD_REQUEST)),
      position(asked(CLUSTER_REQUESTS, WORKLOAD_REQUEST)),
      position(gone(CLUSTER_REQUESTS, WORKLOAD_REQUEST)),
      position(asked(ACCESS_REQUESTS, MCP_REQUEST)),
      position(gone(ACCESS_REQUESTS, MCP_REQUEST)),
      // Gone with its last finalizer, which is ours.
      position(gone(FOOS, NAME)),
    ];
    expect(steps.every(Number.isFinite)).toBe(true);
    expect(steps).toEqual([...steps].sort((a, b) => a - b));
    expect(history.interruptions).toEqual([]);
    expect(await requestsIn(platform, namespace, 'foo--')).toEqual([]);
    // That of the control plane itself is none of ours.
    expect(await platform.get(CLUSTER_REQUESTS, NAME, namespace)).toBeDefined();
    await stage.idle();
    expect(await requestsIn(platform, namespace, 'foo--')).toEqual([]);
  });
});

test('a Foo without a control plane orders nothing, and is served once there is one', async () => {
  const history = await stage.record({ client: platform, types: [ACCESS_REQUESTS, CLUSTER_REQUESTS] });
  await stage.orders.create('early', 'one');
  const waiting = await stage.orders.untilReason('early', 'ControlPlaneNotFound');
  expect(waiting.status?.phase).toBe('Progressing');
  expect(conditionOf(waiting, 'Ready')?.status).toBe('False');
  await stage.idle();
  const namespace = mcpNamespace('early', PROJECT);
  expect(history.entries.filter((entry) => entry.namespace === namespace)).toEqual([]);

  const { client } = await stage.landscape.createControlPlane(PROJECT, 'early');
  await stage.orders.untilReady('early');
  expect(await configMapValue(client, configMapName(`${PROJECT}/early`))).toBe('one');
  await stage.orders.remove('early');
  await stage.orders.untilGone('early');
  expect(await requestsIn(platform, namespace, 'foo--')).toEqual([]);
});
