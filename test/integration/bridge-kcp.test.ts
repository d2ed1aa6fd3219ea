import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { foo } from '../../functions/providers/foo/provider.ts';
import { API_EXPORT_ENDPOINT_SLICES, API_EXPORTS, SECRETS } from '../../shared/kube/resources.ts';
import type { Secret } from '../../shared/model/access.ts';
import type { KubeObject, ServiceObject } from '../../shared/model/kubernetes.ts';
import { connectKcp } from '../control-planes/kcp.ts';
import { bindExport } from '../support/bindings.ts';
import { installCrds, openmcpCrds } from '../support/crds.ts';
import { createKcpIdentity } from '../support/kcp-identity.ts';
import { eventually } from '../support/wait.ts';
import { createWorkspace, type TenantWorkspace } from '../support/workspaces.ts';
import {
  becomesReady,
  Receiver,
  type RedisServer,
  type RunningBridge,
  runBridge,
  startRedis,
} from './bridge-harness.ts';

const FOOS = foo.api.type;
const CONFIGS = foo.config.type;
const EXPORT = FOOS.group;
const NAMESPACE = 'default';
const KUBECONFIG_SECRET = { name: 'kcp', namespace: NAMESPACE };

let platform: TenantWorkspace;
let onboarding: TenantWorkspace;
let services: TenantWorkspace;
let tenants: [TenantWorkspace, TenantWorkspace];
let kubeconfig: string;
let redis: RedisServer;
let receiver: Receiver;
let running: RunningBridge;

beforeAll(async () => {
  const kcp = connectKcp(inject('kcpKubeconfig'));
  const parent = await createWorkspace(kcp.admin, 'root', `bridge-kcp-${randomBytes(4).toString('hex')}`);
  const create = (name: string) => createWorkspace(kcp.admin, parent.path, name);
  [platform, onboarding, services] = await Promise.all([create('platform'), create('onboarding'), create('services')]);
  tenants = await Promise.all([create('tenant-1'), create('tenant-2')]);
  redis = await startRedis(inject('runFolder'));
  await Promise.all([
    installCrds(platform.client, [...openmcpCrds('clusters.'), foo.config.crd() as KubeObject]),
    installCrds(onboarding.client, [foo.api.crd() as KubeObject]),
  ]);
  kubeconfig = await createKcpIdentity(services.client, kcp, 'runtime');
  receiver = new Receiver(redis);
  running = await runBridge(redis, { platform: platform.client, onboarding: onboarding.client });
  await becomesReady(running);
}, 180_000);

afterAll(async () => {
  await running?.stop();
  await receiver?.close();
  await redis?.process.stop();
});

const configure = (spec: object) => platform.client.apply(CONFIGS, { metadata: { name: 'foo' }, spec } as KubeObject);
const kcpSettings = () => ({ kcp: { providerWorkspace: services.path, kubeconfigSecret: KUBECONFIG_SECRET } });
const createFoo = (tenant: TenantWorkspace, name: string): Promise<ServiceObject> =>
  tenant.client.create<ServiceObject>(FOOS, { metadata: { name, namespace: NAMESPACE }, spec: { foo: '1' } });
const change = (tenant: TenantWorkspace, name: string, value: string) =>
  tenant.client.mergePatch(FOOS, name, { spec: { foo: value } }, { namespace: NAMESPACE });
const problems = (): string => running.bridge.ready().join('; ');

describe('kcp mode', () => {
  test('waits for its kubeconfig, says so, and starts as soon as that is there', async () => {
    await configure(kcpSettings());
    await eventually('the missing Secret is named', () => problems().includes('Secret default/kcp'));
    const data = { kubeconfig: Buffer.from(kubeconfig).toString('base64') };
    await platform.client.create<Secret>(SECRETS, { metadata: KUBECONFIG_SECRET, data });
    await becomesReady(running);
    await eventually('the export is there', () => services.client.get(API_EXPORTS, EXPORT));
    expect(problems()).toBe('');
  });

  test('is ready before any workspace has bound the export, and finds the first object when one has', async () => {
    await bindExport(tenants[0].client, services, EXPORT);
    await createFoo(tenants[0], 'first');
    const event = await eventually('it is told', () => receiver.events.find(({ key }) => key.name === 'first'));
    expect(event.key).toMatchObject({ mode: 'kcp', cluster: tenants[0].logicalCluster, namespace: NAMESPACE });
  });

  test('keeps the same name in two workspaces apart', async () => {
    await bindExport(tenants[1].client, services, EXPORT);
    await Promise.all(tenants.map((tenant) => createFoo(tenant, 'same')));
    const clusters = await eventually('both are told', () => {
      const found = new Set(receiver.events.filter(({ key }) => key.name === 'same').map(({ key }) => key.cluster));
      return found.size === 2 && found;
    });
    expect([...(clusters || [])].sort()).toEqual(tenants.map(({ logicalCluster }) => logicalCluster).sort());
  });

  test('looks at the other objects of a workspace, and at none of another, when one is gone', async () => {
    const since = receiver.events.length;
    await tenants[0].client.delete(FOOS, 'first', { namespace: NAMESPACE });
    const event = await receiver.next('same', 'WinnerGone', since);
    expect(event.key.cluster).toBe(tenants[0].logicalCluster);
    expect(receiver.events.slice(since).filter(({ key }) => key.cluster === tenants[1].logicalCluster)).toEqual([]);
  });

  test('goes on after its endpoint slice was deleted and is there again', async () => {
    await services.client.delete(API_EXPORT_ENDPOINT_SLICES, EXPORT);
    await eventually('the endpoint left', () => running.lines.some((line) => line['msg'] === 'endpoint left'));
    // kcp makes it again by itself.
    await eventually('the slice is back', () => services.client.get(API_EXPORT_ENDPOINT_SLICES, EXPORT));
    await becomesReady(running);
    const since = receiver.events.length;
    await eventually('a change is told', async () => {
      await change(tenants[0], 'same', String(Math.random()));
      return receiver.events.slice(since).some(({ key }) => key.name === 'same');
    });
    expect(receiver.of('same')).not.toContain('Deleting');
  });

  test('begins anew when its kubeconfig changes, stops when its settings are removed, and leaves the other mode alone', async () => {
    const data = { kubeconfig: Buffer.from(`# rotated\n${kubeconfig}`).toString('base64') };
    await platform.client.mergePatch(SECRETS, KUBECONFIG_SECRET.name, { data }, KUBECONFIG_SECRET);
    await eventually('it began anew', () =>
      running.lines.some((line) => line['msg'] === 'the kcp kubeconfig has changed'),
    );
    await becomesReady(running);
    let since = receiver.events.length;
    await change(tenants[1], 'same', 'after rotation');
    await eventually('it is told', () => receiver.events.slice(since).some(({ key }) => key.mode === 'kcp'));

    await configure({});
    await eventually('it stops', () => running.lines.some((line) => line['msg'] === 'kcp mode stops' && line['mode']));
    await eventually('nothing is known of it', () => problems() === '');
    since = receiver.events.length;
    await change(tenants[1], 'same', 'unseen');
    await createFoo(onboarding, 'standard');
    await receiver.next('standard', 'Added', since);
    expect(receiver.events.slice(since).map(({ key, reason }) => `${key.mode} ${reason}`)).not.toContain('kcp Changed');
  });
});
