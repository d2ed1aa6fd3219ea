import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { foo } from '../../functions/providers/foo/provider.ts';
import { API_EXPORT_ENDPOINT_SLICES, API_EXPORTS, SECRETS } from '../../shared/kube/resources.ts';
import type { Secret } from '../../shared/model/access.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { connectKcp } from '../control-planes/kcp.ts';
import { bindExport } from '../support/bindings.ts';
import { createKcpIdentity } from '../support/kcp-identity.ts';
import { eventually } from '../support/wait.ts';
import type { TenantWorkspace } from '../support/workspaces.ts';
import {
  becomesReady,
  createFoo,
  NAMESPACE,
  type Receiver,
  type Rig,
  type RunningBridge,
  startRig,
  workspacesBelow,
} from './bridge-harness.ts';

const FOOS = foo.api.type;
const CONFIGS = foo.config.type;
const EXPORT = FOOS.group;
const KUBECONFIG_SECRET = { name: 'kcp', namespace: NAMESPACE };

let platform: TenantWorkspace;
let onboarding: TenantWorkspace;
let services: TenantWorkspace;
let tenants: [TenantWorkspace, TenantWorkspace];
let kubeconfig: string;
let rig: Rig;
let receiver: Receiver;
let running: RunningBridge;

beforeAll(async () => {
  const kcp = connectKcp(inject('kcpKubeconfig'));
  const create = await workspacesBelow(kcp, 'bridge-kcp');
  [platform, onboarding, services] = await Promise.all([create('platform'), create('onboarding'), create('services')]);
  tenants = await Promise.all([create('tenant-1'), create('tenant-2')]);
  kubeconfig = await createKcpIdentity(services.client, kcp, 'runtime');
  rig = await startRig(join(inject('runFolder'), 'bridge-kcp'), {
    platform: platform.client,
    onboarding: onboarding.client,
  });
  ({ receiver, running } = rig);
}, 180_000);

afterAll(() => rig?.stop());

const configure = (spec: object) => platform.client.apply(CONFIGS, { metadata: { name: 'foo' }, spec } as KubeObject);
const kcpSettings = () => ({ kcp: { providerWorkspace: services.path, kubeconfigSecret: KUBECONFIG_SECRET } });
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
    await createFoo(tenants[0].client, 'first');
    const event = await eventually('it is told', () => receiver.events.find(({ key }) => key.name === 'first'));
    expect(event.key).toMatchObject({ mode: 'kcp', cluster: tenants[0].logicalCluster, namespace: NAMESPACE });
  });

  test('keeps the same name in two workspaces apart', async () => {
    await bindExport(tenants[1].client, services, EXPORT);
    await Promise.all(tenants.map((tenant) => createFoo(tenant.client, 'same')));
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
    await eventually('the endpoint left', () => running.logged('msg', 'endpoint left'));
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
    await eventually('it began anew', () => running.logged('msg', 'the kcp kubeconfig has changed'));
    await becomesReady(running);
    let since = receiver.events.length;
    // What is changed before it has listed anew is told as found, not as changed.
    await eventually('a change is told', async () => {
      await change(tenants[1], 'same', String(Math.random()));
      const told = () =>
        receiver.events.slice(since).some(({ key, reason }) => `${key.mode} ${reason}` === 'kcp Changed');
      return eventually('this one', told, { timeout: 5_000 });
    });

    const asked = Date.now();
    await configure({});
    // It has stopped before, to begin anew.
    await eventually('it stops', () => running.logged('msg', 'kcp mode stops', ({ time }) => Number(time) >= asked));
    await eventually('nothing is known of it', () => problems() === '');
    since = receiver.events.length;
    await change(tenants[1], 'same', 'unseen');
    await createFoo(onboarding.client, 'standard');
    await receiver.next('standard', 'Added', since);
    expect(receiver.events.slice(since).map(({ key, reason }) => `${key.mode} ${reason}`)).not.toContain('kcp Changed');
  });
});
