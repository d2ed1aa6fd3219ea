import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { isForbidden } from '../../shared/kube/api-error.ts';
import { clientFor } from '../../shared/kube/connect.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { parseKubeconfig } from '../../shared/kube/kubeconfig.ts';
import { API_EXPORTS, API_RESOURCE_SCHEMAS, CONFIG_MAPS, SECRETS } from '../../shared/kube/resources.ts';
import { workspaceUrl } from '../../shared/kube/workspace-url.ts';
import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';
import { connectKcp } from '../control-planes/kcp.ts';
import { endpointUrls } from '../support/bindings.ts';
import { createLandscape, type Landscape } from '../support/landscape.ts';
import { eventually } from '../support/wait.ts';
import { deleteWorkspace } from '../support/workspaces.ts';

const GROUP = 'things.example.org';
const THINGS: ResourceType = { group: GROUP, version: 'v1', kind: 'Thing', plural: 'things', namespaced: true };

let landscape: Landscape;
let runtime: HttpKubeClient;

beforeAll(async () => {
  landscape = await createLandscape({ kcp: connectKcp(inject('kcpKubeconfig')), dir: inject('runFolder') });
  const kubeconfig = await landscape.runtimeKcpIdentity();
  runtime = clientFor(parseKubeconfig(kubeconfig, 'the runtime'));
});

afterAll(() => landscape?.stop());

/** As the runtime does it, with nothing but its own rights. */
async function exportThings(): Promise<void> {
  const schema = {
    type: 'object',
    properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
  };
  await runtime.create(API_RESOURCE_SCHEMAS, {
    metadata: { name: `v1.things.${GROUP}` },
    spec: {
      group: GROUP,
      names: { kind: 'Thing', plural: 'things', singular: 'thing', listKind: 'ThingList' },
      scope: 'Namespaced',
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  } as KubeObject);
  await runtime.create(API_EXPORTS, {
    metadata: { name: GROUP },
    spec: {
      resources: [{ group: GROUP, name: 'things', schema: `v1.things.${GROUP}`, storage: { crd: {} } }],
      permissionClaims: [{ group: '', resource: 'secrets', verbs: ['get', 'list', 'watch', 'create', 'delete'] }],
    },
  } as KubeObject);
}

const virtualWorkspace = () =>
  eventually('the export has an address', async () => (await endpointUrls(runtime, GROUP))[0]);

test('the runtime sees objects of tenants that bound its export, and nothing else of them', async () => {
  await exportThings();
  const [one, two] = await Promise.all(['one', 'two'].map((name) => landscape.createTenantWorkspace(name)));
  if (!one || !two) throw new Error('no workspaces');
  await landscape.bind(one, GROUP);
  await landscape.bind(two, GROUP, { claims: 'none' });
  for (const { client } of [one, two])
    await eventually('the tenant can order', () =>
      client.create(THINGS, { metadata: { namespace: 'default', name: 'mine' } }),
    );

  const base = await virtualWorkspace();
  const all = runtime.at(workspaceUrl(base, '*'));
  const seen = await eventually('both are seen', async (last) => {
    const { items } = await all.list(THINGS);
    last(items);
    return items.length === 2 && items;
  });
  const clusters = seen.map(({ metadata }) => metadata.annotations?.['kcp.io/cluster']);
  expect(new Set(clusters)).toEqual(new Set([one.logicalCluster, two.logicalCluster]));

  // Before any write through the virtual workspace: each leaves an administrator's warrant for that tenant in the
  // identity that kcp 0.30 caches for a token, and for ten seconds direct calls are allowed that must not be.
  await expect(runtime.at(one.client.server).list(THINGS)).rejects.toSatisfy(isForbidden);
  await expect(runtime.list(CONFIG_MAPS)).rejects.toSatisfy(isForbidden);
  await expect(runtime.list(SECRETS)).rejects.toSatisfy(isForbidden);

  const inside = (cluster: string) => runtime.at(workspaceUrl(base, cluster));
  await eventually('accepted claims work', () =>
    inside(one.logicalCluster).create(SECRETS, { metadata: { namespace: 'default', name: 'made' } }),
  );
  await expect(inside(two.logicalCluster).list(SECRETS)).rejects.toSatisfy(isForbidden);

  await deleteWorkspace(one, { wait: true });
  await eventually('its objects are gone', async () => (await all.list(THINGS)).items.length === 1);
});
