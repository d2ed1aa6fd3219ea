import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningRuntime } from '../../deploy/command/compose.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, CONFIG_MAPS, NAMESPACES } from '../../shared/kube/resources.ts';
import type { AccessRequest, ClusterRequest } from '../../shared/model/access.ts';
import { mcpNamespace, nameUuid } from '../../shared/names.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { SYSTEM_NAMESPACE } from '../support/landscape-options.ts';
import { installedName } from '../support/probe.ts';
import { FINALIZER, narrow, wide } from '../support/providers/wide.ts';
import { configMapValue, inOrder, position, requestsIn } from '../support/requests.ts';
import { writeProviderConfig } from '../support/service.ts';
import { createStage, PROJECT, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

let stage: Stage;
let platform: HttpKubeClient;
let controlPlane: ControlPlane;
let runtime: RunningRuntime;
const MCP = mcpNamespace('cp', PROJECT);
const UUID = nameUuid(PROJECT, 'cp');

const access = (name: string, namespace: string) => platform.get<AccessRequest>(ACCESS_REQUESTS, name, namespace);
const order = (name: string, namespace: string) => platform.get<ClusterRequest>(CLUSTER_REQUESTS, name, namespace);
beforeAll(async () => {
  stage = await createStage({ provider: wide.provider });
  platform = stage.landscape.platform.client;
  [controlPlane, runtime] = await Promise.all([stage.landscape.createControlPlane(PROJECT, 'cp'), stage.run()]);
});

afterAll(() => stage?.stop());

describe('one object with every kind of registration', () => {
  test('gets all clusters, under the names of the Go library', async () => {
    await stage.orders.create('cp', 'one');
    const object = await stage.orders.untilReady('cp');
    expect(object.metadata.finalizers).toEqual([FINALIZER]);

    expect(await access('wide--cp--mcp', MCP)).toMatchObject({
      metadata: {
        labels: {
          'openmcp.cloud/managed-by': 'Wide',
          'openmcp.cloud/managed-purpose': `${PROJECT}.cp.mcp`,
          'openmcp.cloud/onboarding-name': 'cp',
          'openmcp.cloud/onboarding-namespace': PROJECT,
        },
        finalizers: expect.arrayContaining(['clusters.openmcp.cloud/clusteraccess']) as string[],
      },
      spec: { token: { permissions: [{}, { namespace: 'wide-system' }] } },
    });
    const extra = await order('wide--cp--x', UUID);
    expect(extra).toMatchObject({
      metadata: { labels: { 'openmcp.cloud/managed-purpose': `${PROJECT}.cp.extra` } },
      spec: { purpose: 'workload' },
    });
    expect((await access('wide--cp--x', UUID))?.spec.requestRef).toEqual({ name: 'wide--cp--x', namespace: UUID });
    expect((await access('wide--cp--ordered', MCP))?.spec.requestRef).toEqual({
      name: 'onboarding',
      namespace: SYSTEM_NAMESPACE,
    });
    const present = await access('wide--cp--present', 'wide-requests');
    expect(present?.spec.requestRef).toBeUndefined();
    expect(present?.spec.clusterRef).toEqual({ name: 'onboarding', namespace: SYSTEM_NAMESPACE });
    expect(await order('wide--cp--bare', MCP)).toMatchObject({ status: { phase: 'Granted' } });
    expect(await access('wide--cp--bare', MCP)).toBeUndefined();

    const { namespace = '', name = '' } = extra?.status?.cluster ?? {};
    const inExtra = await stage.landscape.clusterClient(namespace, name);
    for (const cluster of [controlPlane.client, inExtra, stage.landscape.onboarding.client])
      expect(await configMapValue(cluster, installedName(object))).toBe('one');
  });

  test('has its rights changed when the ProviderConfig overrides the namespace, and waits until they are granted', async () => {
    const before = await access('wide--cp--mcp', MCP);
    const withOther = () => wide.calls.filter(({ config }) => config.namespace === 'other').length;
    stage.landscape.clusterProvider.setAutoGrant(false);
    try {
      await writeProviderConfig(stage.landscape, wide.provider, { config: { namespace: 'other' } });
      const waiting = await stage.orders.untilReason('cp', 'WaitingForAccessRequest');
      expect(waiting.status?.phase).toBe('Progressing');
      const changed = await access('wide--cp--mcp', MCP);
      expect(changed?.metadata.uid).toBe(before?.metadata.uid);
      expect(changed?.spec.token?.permissions?.[1]?.namespace).toBe('other');
      const { generation = 0 } = changed?.metadata ?? {};
      expect(changed?.status).not.toMatchObject({ phase: 'Granted', observedGeneration: generation });
      await stage.idle();
      expect(withOther()).toBe(0);
    } finally {
      stage.landscape.clusterProvider.setAutoGrant(true);
    }
    await stage.orders.until('cp', 'Ready', ({ status }) => status?.phase === 'Ready');
    const granted = await access('wide--cp--mcp', MCP);
    expect(granted?.status?.observedGeneration).toBe(granted?.metadata.generation);
    expect(withOther()).toBeGreaterThan(0);
  });

  test('has access that somebody removed ordered again, and is installed again', async () => {
    const installs = wide.installs('cp');
    const [mcp, extra] = [await access('wide--cp--mcp', MCP), await order('wide--cp--x', UUID)];
    await platform.delete(ACCESS_REQUESTS, 'wide--cp--mcp', { namespace: MCP });
    await platform.delete(ACCESS_REQUESTS, 'wide--cp--x', { namespace: UUID });
    await platform.delete(CLUSTER_REQUESTS, 'wide--cp--x', { namespace: UUID });
    await eventually('all of it was ordered again', async (seen) => {
      const now = [
        await access('wide--cp--mcp', MCP),
        await order('wide--cp--x', UUID),
        await access('wide--cp--x', UUID),
      ];
      seen(now.map((request) => request?.metadata));
      const again = now[0]?.metadata.uid !== mcp?.metadata.uid && now[1]?.metadata.uid !== extra?.metadata.uid;
      return again && now.every((request) => request?.status?.phase === 'Granted');
    });
    await eventually('it was installed again', () => wide.installs('cp') > installs);
    await stage.orders.until('cp', 'Ready', ({ status }) => status?.phase === 'Ready');
    expect(wide.deletes('cp')).toBe(0);
  });

  test('loses nothing by a worker of a version that does not lead, and does not know all of it', async () => {
    const requests = () =>
      Promise.all([
        order('wide--cp--bare', MCP),
        access('wide--cp--ordered', MCP),
        access('wide--cp--present', 'wide-requests'),
      ]);
    const uids = async () => (await requests()).map((request) => request?.metadata.uid);
    const before = await uids();
    await runtime.stop();
    const leading = await stage.run({ functions: [] });
    const other = await stage.run({ provider: narrow.provider, bridge: false });
    await stage.orders.change('cp', 'two');
    await stage.orders.untilReady('cp');
    expect(narrow.installs('cp')).toBeGreaterThan(0);
    expect(await uids()).toEqual(before);
    expect((await requests()).map((request) => request?.metadata.deletionTimestamp)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    await Promise.all([leading.stop(), other.stop()]);
    runtime = await stage.run();
  });

  test('loses what the version that leads does not register any more', async () => {
    const kept = [await access('wide--cp--mcp', MCP), await access('wide--cp--x', UUID)].map(
      (one) => one?.metadata.uid,
    );
    await runtime.stop();
    const installs = narrow.installs('cp');
    runtime = await stage.run({ provider: narrow.provider });
    await eventually('withdrawn registrations have nothing left', async (seen) => {
      const left = [
        await access('wide--cp--ordered', MCP),
        await order('wide--cp--bare', MCP),
        await access('wide--cp--present', 'wide-requests'),
      ];
      seen(left);
      return left.every((request) => request === undefined);
    });
    await eventually('the new version has installed', () => narrow.installs('cp') > installs);
    await stage.orders.until('cp', 'Ready', ({ status }) => status?.phase === 'Ready');
    const now = [await access('wide--cp--mcp', MCP), await access('wide--cp--x', UUID)].map((one) => one?.metadata.uid);
    expect(now).toEqual(kept);
    // The platform's own are none of ours.
    expect(await order('onboarding', SYSTEM_NAMESPACE)).toBeDefined();
    expect(await order('cp', MCP)).toBeDefined();
  });

  test('goes with everything that was ordered, the end user cluster last', async () => {
    await runtime.stop();
    runtime = await stage.run();
    await eventually('bare is ordered again', () => order('wide--cp--bare', MCP));
    await stage.orders.until('cp', 'Ready', ({ status }) => status?.phase === 'Ready');
    const history = await stage.record(
      { client: platform, types: [ACCESS_REQUESTS, CLUSTER_REQUESTS] },
      { client: stage.landscape.onboarding.client, types: [wide.provider.api.type] },
    );
    await stage.orders.remove('cp');
    await stage.orders.untilGone('cp');
    await eventually('the history tells it', () => history.of(wide.provider.api.type, { type: 'DELETED' })[0]);
    const deleted = history.entries.filter((entry) => entry.type === 'DELETED');
    expect(inOrder(deleted)).toEqual([
      'ClusterRequest wide--cp--bare',
      'AccessRequest wide--cp--present',
      'AccessRequest wide--cp--ordered',
      'AccessRequest wide--cp--x',
      'ClusterRequest wide--cp--x',
      'AccessRequest wide--cp--mcp',
      'Probe cp',
    ]);
    expect(deleted.every((entry) => Number.isFinite(position(entry)))).toBe(true);
    for (const namespace of [MCP, UUID, 'wide-requests'])
      expect(await requestsIn(platform, namespace, 'wide--')).toEqual([]);
    expect(await platform.get(NAMESPACES, UUID)).toBeDefined();
    for (const cluster of [controlPlane.client, stage.landscape.onboarding.client])
      expect(await cluster.get(CONFIG_MAPS, 'probe-cp', 'default')).toBeUndefined();
  });
});
