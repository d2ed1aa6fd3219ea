import { pino } from 'pino';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import type { ApiExport } from '../../bridge/kcp/decide-provision.ts';
import { provisionExport } from '../../bridge/kcp/provision.ts';
import { listBindings } from '../../shared/kcp/bindings.ts';
import { openKcpConnection, type KcpConnection } from '../../shared/kcp/connection.ts';
import { isDenied, isInvalid } from '../../shared/kube/api-error.ts';
import { API_EXPORTS, API_RESOURCE_SCHEMAS, CLUSTER_ROLES, SECRETS } from '../../shared/kube/resources.ts';
import { workspaceUrl } from '../../shared/kube/workspace-url.ts';
import type { PermissionClaim, Secret } from '../../shared/model/access.ts';
import type { KubeObject, ServiceObject } from '../../shared/model/kubernetes.ts';
import { connectKcp, type Kcp } from '../control-planes/kcp.ts';
import { bindExport } from '../support/bindings.ts';
import { createKcpIdentity, rulesFor } from '../support/kcp-identity.ts';
import { eventually } from '../support/wait.ts';
import { EXPORT, SPEC, sizes } from '../support/providers/sizes.ts';
import { createWorkspace, type TenantWorkspace } from '../support/workspaces.ts';

const log = pino({ level: 'silent' });

let kcp: Kcp;
let platform: TenantWorkspace;
let services: TenantWorkspace;
let tenant: TenantWorkspace;
/** With the rights that the runtime has, no more. */
let connection: KcpConnection;

const { type } = sizes().api;
const RULES = rulesFor(type);
const settings = (name: string) => ({
  providerWorkspace: services.path,
  kubeconfigSecret: { name, namespace: 'default' },
});
const exported = async (): Promise<ApiExport> =>
  (await services.client.get<ApiExport>(API_EXPORTS, EXPORT)) as ApiExport;
const schemas = async (): Promise<string[]> =>
  (await services.client.list(API_RESOURCE_SCHEMAS)).items.map(({ metadata }) => metadata.name);
const order = (name: string, spec: Record<string, unknown>): Promise<ServiceObject> =>
  tenant.client.create<ServiceObject>(type, { metadata: { name, namespace: 'default' }, spec });

/** As the runtime does it: no tenant may. */
async function patchStatus(status: object): Promise<ServiceObject> {
  const [url = ''] = await connection.endpointUrls(EXPORT);
  const home = connection.at(workspaceUrl(url, tenant.logicalCluster));
  return home.mergePatch<ServiceObject>(type, 'mine', { status }, { namespace: 'default', subresource: 'status' });
}

beforeAll(async () => {
  kcp = connectKcp(inject('kcpKubeconfig'));
  const parent = await createWorkspace(kcp.admin, 'root', `provision-${Date.now().toString(36)}`);
  [platform, services, tenant] = (await Promise.all(
    ['platform', 'services', 'tenant'].map((name) => createWorkspace(kcp.admin, parent.path, name)),
  )) as [TenantWorkspace, TenantWorkspace, TenantWorkspace];
  const kubeconfig = await createKcpIdentity(services.client, kcp, 'service-provider', RULES);
  await platform.client.create<Secret>(SECRETS, {
    metadata: { name: 'kcp', namespace: 'default' },
    stringData: { kubeconfig },
  });
  connection = await openKcpConnection(platform.client, settings('kcp'));
});

describe('the connection', () => {
  test('goes to the provider workspace', () => {
    expect(connection.base).toBe(kcp.server);
    expect(connection.workspace.server).toBe(workspaceUrl(kcp.server, services.path));
  });

  test('names a Secret that is missing', async () => {
    await expect(openKcpConnection(platform.client, settings('nope'))).rejects.toMatchObject({
      code: 'NOT_READY',
      message: expect.stringContaining('Secret default/nope') as string,
    });
  });

  test('has no endpoint for an export that does not exist', async () => {
    expect(await connection.endpointUrls('nope')).toEqual([]);
  });
});

describe('provisioning, in the order in which a provider lives', () => {
  test('creates schema and export, and kcp adds the endpoint slice', async () => {
    await provisionExport(connection.workspace, sizes(), log);
    const { name } = sizes().api.apiResourceSchema().metadata;
    expect((await exported()).spec?.resources).toEqual([
      { group: EXPORT, name: 'sizes', schema: name, storage: { crd: {} } },
    ]);
    expect(await schemas()).toEqual([name]);
    expect(await connection.endpointUrls(EXPORT)).toEqual([]);
  });

  test('a tenant who binds it has the type, and the export gets an address', async () => {
    await bindExport(tenant.client, services, EXPORT);
    const created = await eventually('the type is served', () => order('mine', {}));
    expect(created.spec).toEqual({ size: 'small' });
    const [url] = await eventually('an endpoint', async () => {
      const urls = await connection.endpointUrls(EXPORT);
      return urls.length > 0 && urls;
    });
    const everywhere = connection.at(workspaceUrl(url as string, '*'));
    const { items } = await everywhere.list<ServiceObject>(type);
    expect(items.map(({ metadata }) => metadata.annotations?.['kcp.io/cluster'])).toEqual([tenant.logicalCluster]);
    // The claims work as well: this is read by the runtime's identity in the tenant's workspace.
    const home = connection.at(workspaceUrl(url as string, tenant.logicalCluster));
    await expect(home.list(SECRETS)).resolves.toBeDefined();
  });

  test.each([
    ['a value that is not offered', { size: 'huge' }],
    ['a number out of range', { nodes: 0 }],
    ['a number that is too large for its format', { nodes: 2 ** 31 }],
    ['a wrong type', { nodes: 'two' }],
  ])('kcp refuses %s', async (_what, spec) => {
    await expect(order('wrong', spec)).rejects.toSatisfy(isInvalid);
  });

  test('status takes the fields of the runtime and of the provider', async () => {
    const condition = { type: 'Ready', status: 'False', reason: 'Waiting', message: '', observedGeneration: 1 };
    const status = {
      phase: 'Progressing',
      observedGeneration: 1,
      conditions: [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' }],
      resources: [{ apiGroup: '', kind: 'ConfigMap', name: 'x', phase: 'Pending' }],
    };
    expect((await patchStatus(status)).status).toEqual(status);
    expect((await patchStatus({ url: 'https://x' })).status).toEqual({ ...status, url: 'https://x' });
    expect((await patchStatus({ unknown: 1 })).status).not.toHaveProperty('unknown');
    await expect(patchStatus({ resources: [{ kind: 'A', name: 'x', phase: 'Odd' }] })).rejects.toSatisfy(isInvalid);
  });

  test('a second run writes nothing', async () => {
    const writes: string[] = [];
    const watched = new Proxy(connection.workspace, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        if (!['get', 'list'].includes(String(name))) writes.push(String(name));
        return member.bind(target) as unknown;
      },
    });
    await provisionExport(watched, sizes(), log);
    expect(writes).toEqual([]);
    expect(await schemas()).toHaveLength(1);
  });

  test('several at once agree', async () => {
    const claims: PermissionClaim[] = [{ group: '', resource: 'events', verbs: ['create'] }];
    await Promise.all([1, 2, 3, 4].map(() => provisionExport(connection.workspace, sizes({ claims }), log)));
    const { spec } = await exported();
    expect(spec?.permissionClaims?.filter(({ resource }) => resource === 'events')).toHaveLength(1);
  });

  test("a claim on a type of another export has that one's identity from the configuration, and follows it", async () => {
    const claims: PermissionClaim[] = [{ group: 'shared.example.org', resource: 'shareds', verbs: ['get'] }];
    for (const identity of ['a1b2', 'c3d4']) {
      const identityHashes = { 'shareds.shared.example.org': identity };
      await provisionExport(connection.workspace, sizes({ claims }), log, { identityHashes });
      const found = (await exported()).spec?.permissionClaims?.find(({ resource }) => resource === 'shareds');
      expect(found).toEqual({ ...claims[0], identityHash: identity });
    }
  });

  test('a claim that is no longer needed goes, what others added stays', async () => {
    const shared = { group: 'shared.example.org', name: 'shareds', schema: 'v1.shareds.shared.example.org' };
    const { metadata, spec } = await exported();
    await services.client.mergePatch(API_EXPORTS, EXPORT, {
      metadata: { resourceVersion: metadata.resourceVersion, labels: { team: 'a' } },
      spec: {
        resources: [...(spec?.resources ?? []), shared],
        permissionClaims: [...(spec?.permissionClaims ?? []), { resource: 'configmaps', verbs: ['get'] }],
      },
    });
    await provisionExport(connection.workspace, sizes(), log);
    const after = await exported();
    const claimed = after.spec?.permissionClaims?.map(({ resource }) => resource);
    expect(claimed).toContain('configmaps');
    expect(claimed).not.toContain('events');
    expect(after.spec?.resources?.map(({ name }) => name)).toEqual(['sizes', 'shareds']);
    expect(after.metadata.labels).toMatchObject({ team: 'a' });
    await services.client.mergePatch(API_EXPORTS, EXPORT, {
      spec: { resources: after.spec?.resources?.filter(({ name }) => name === 'sizes') },
    });
  });

  test('a compatible new schema is served to those who have bound, and objects stay', async () => {
    const bigger = SPEC.extend({ colour: z.string().default('red') });
    await provisionExport(connection.workspace, sizes({ spec: bigger }), log);
    const mine = await eventually('the new default', async () => {
      const object = await tenant.client.get<ServiceObject>(type, 'mine', 'default');
      return object?.spec?.['colour'] === 'red' && object;
    });
    expect(mine.spec).toEqual({ size: 'small', colour: 'red' });
    expect(await schemas()).toHaveLength(2);
  });

  test('a schema under which objects of tenants would be invalid is refused, and all else put right', async () => {
    const before = await exported();
    const other = sizes({ spec: z.object({ size: z.int() }) });
    const refused = {
      why: {
        code: 'INVALID_PROVIDER',
        message: expect.stringContaining('v1.spec.size: type was string, is now integer') as string,
      },
      schema: before.spec?.resources?.find(({ name }) => name === 'sizes')?.schema,
    };
    expect(await provisionExport(connection.workspace, other, log)).toMatchObject({ refused, mended: [] });
    expect(await exported()).toEqual(before);
    expect(await schemas()).toHaveLength(2);

    const permissionClaims = before.spec?.permissionClaims?.slice(1);
    await services.client.mergePatch(API_EXPORTS, EXPORT, { spec: { permissionClaims } });
    const again = await provisionExport(connection.workspace, other, log);
    expect(again).toMatchObject({ refused, mended: ['spec.permissionClaims'] });
    expect((await exported()).spec?.resources).toEqual(before.spec?.resources);
  });
});

/** What its audit does not tell, since kcp asks for it itself before it lets a request through. */
describe('without a right that leads', () => {
  test.each([
    ['into the workspace', '/', () => connection.workspace.get(API_EXPORTS, EXPORT)],
    [
      'to what tenants have',
      'apiexports/content',
      async () => {
        const [url = ''] = await connection.endpointUrls(EXPORT);
        return listBindings(connection.at(`${url}/clusters/*`));
      },
    ],
  ])('%s, nothing is read', async (_what, taken, read) => {
    await expect(read()).resolves.toBeDefined();
    const rules = RULES.filter(({ resources, nonResourceURLs }) => !(resources ?? nonResourceURLs)?.includes(taken));
    const role = { metadata: { name: 'service-provider' } };
    await services.client.apply(CLUSTER_ROLES, { ...role, rules } as KubeObject);
    const refused = eventually('it is refused', () => read().then(() => false, isDenied));
    await expect(refused).resolves.toBe(true);
    await services.client.apply(CLUSTER_ROLES, { ...role, rules: RULES } as KubeObject);
    await eventually('it is read again', () =>
      read().then(
        () => true,
        () => false,
      ),
    );
  });
});
