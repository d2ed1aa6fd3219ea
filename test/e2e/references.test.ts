import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newCluster } from '../../shared/provider/registration.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { ACCESS_REQUESTS, CONFIG_MAPS, SECRETS } from '../../shared/kube/resources.ts';
import type { AccessRequest, Secret } from '../../shared/model/access.ts';
import { mcpNamespace } from '../../shared/names.ts';
import { conditionOf } from '../../shared/status.ts';
import { type ConfigMap, isReady } from '../support/orders.ts';
import { install, MANAGE_CONFIG_MAPS, probe, rule } from '../support/probe.ts';
import { PROVIDER_NAMESPACE, writeProviderConfig } from '../support/service.ts';
import { createStage, PROJECT, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

const COPYING = {
  permissions: [...(MANAGE_CONFIG_MAPS.permissions ?? []), { rules: [rule(['secrets', 'namespaces'])] }],
};
const pulling = probe('pulling', {
  workloadCluster: true,
  access: {
    mcp: COPYING,
    workload: COPYING,
    clusters: { extra: newCluster({ cluster: { purpose: 'workload' }, access: COPYING }) },
  },
  referencedSecrets: (config) =>
    (config?.secrets ?? []).map((name) => ({
      name,
      copyTo: (object, { identity }) => [
        { cluster: 'tenant' },
        { cluster: 'mcp', namespace: 'pulling-system' },
        {
          cluster: 'workload',
          namespace: `pulling-${object.metadata.name}`,
          name: `${name}.${identity.replace('/', '.')}`,
        },
      ],
    })),
  referencedConfigMaps: () => ['settings'],
  async createOrUpdate(ctx, object) {
    const settings = await ctx.platform.get<ConfigMap>(CONFIG_MAPS, 'settings', ctx.providerNamespace);
    await install(ctx.mcp.client, object, settings?.data?.['value'] ?? 'none');
  },
});

let stage: Stage;
let platform: HttpKubeClient;
let workload: HttpKubeClient;
const clusters = new Map<string, HttpKubeClient>();
const NAMES = ['a', 'b'];

const cluster = (name: string) => clusters.get(name) as HttpKubeClient;
const encode = (text: string) => Buffer.from(text).toString('base64');
const dockerconfig = (user: string) => ({
  '.dockerconfigjson': encode(JSON.stringify({ auths: { 'r.example': { username: user } } })),
});
const secret = (name: string, data: Record<string, string>, type = 'kubernetes.io/dockerconfigjson'): Secret => ({
  metadata: { name, namespace: PROVIDER_NAMESPACE },
  type,
  data,
});
const configure = (secrets: string[]) =>
  writeProviderConfig(stage.landscape, pulling.provider, { config: { secrets } });

/** All places in which copies of a Secret are expected for an object. */
const places = (name: string, object: string): [HttpKubeClient, string, string][] => [
  [platform, `sp-pulling-${name}`, mcpNamespace(object, PROJECT)],
  [cluster(object), name, 'pulling-system'],
  [workload, `${name}.${PROJECT}.${object}`, `pulling-${object}`],
];
const copies = (name: string, object: string) =>
  Promise.all(places(name, object).map(([client, copy, namespace]) => client.get<Secret>(SECRETS, copy, namespace)));
const untilCopied = (name: string, data: Record<string, string>, type = 'kubernetes.io/dockerconfigjson') =>
  Promise.all(
    NAMES.map((object) =>
      eventually(`copies of ${name} for ${object} are as they should be`, async (seen) => {
        const found = await copies(name, object);
        seen(found);
        return (
          found.every((copy) => copy?.type === type && JSON.stringify(copy.data) === JSON.stringify(data)) && found
        );
      }),
    ),
  );
const installs = () => NAMES.map((name) => pulling.installs(name));

beforeAll(async () => {
  stage = await createStage({ provider: pulling.provider, config: { secrets: ['registry'] } });
  platform = stage.landscape.platform.client;
  const made = NAMES.map(async (name) =>
    clusters.set(name, (await stage.landscape.createControlPlane(PROJECT, name)).client),
  );
  await Promise.all([...made, stage.run()]);
  await Promise.all(NAMES.map((name) => stage.orders.create(name, 'one')));
  workload = await stage.landscape.clusterClient('openmcp-system', await workloadClusterName());
});

afterAll(() => stage?.stop());

async function workloadClusterName(): Promise<string> {
  return eventually('the workload cluster is known', async () => {
    const request = await platform.get<AccessRequest>(ACCESS_REQUESTS, 'pulling--a--wl', mcpNamespace('a', PROJECT));
    return request?.spec.clusterRef?.name;
  });
}

describe('an image pull secret', () => {
  test('that does not exist is waited for, and then copied before anything is installed', async () => {
    for (const name of NAMES) {
      const object = await stage.orders.untilReason(name, 'ReferencedSecretNotFound');
      expect(object.status?.phase).toBe('Progressing');
      expect(conditionOf(object, 'Ready')?.message).toContain('Secret registry, which');
    }
    expect(installs()).toEqual([0, 0]);
    await platform.create<Secret>(SECRETS, secret('registry', dockerconfig('one')));
    for (const name of NAMES) await stage.orders.untilReady(name);
    const found = await untilCopied('registry', dockerconfig('one'));
    for (const copy of found.flat()) expect(copy?.metadata.labels?.['openmcp.cloud/managed-by']).toBe('pulling');
  });

  test('is kept the same in all places, whoever changes what', async () => {
    await platform.mergePatch(SECRETS, 'registry', { data: dockerconfig('two') }, { namespace: PROVIDER_NAMESPACE });
    await untilCopied('registry', dockerconfig('two'));
    const [client, name, namespace] = places('registry', 'a')[1] as [HttpKubeClient, string, string];
    await client.mergePatch(SECRETS, name, { data: dockerconfig('by hand') }, { namespace });
    await client.delete(SECRETS, `registry.${PROJECT}.a`, { namespace: 'pulling-a' });
    await stage.orders.change('a', 'two');
    const mended = await untilCopied('registry', dockerconfig('two'));
    expect(mended.flat().every((copy) => copy?.metadata.deletionTimestamp === undefined)).toBe(true);
  });

  test('of another type takes the place of the old one, although types can not be changed', async () => {
    const before = (await copies('registry', 'a')).map((copy) => copy?.metadata.uid);
    await platform.delete(SECRETS, 'registry', { namespace: PROVIDER_NAMESPACE });
    await platform.create<Secret>(SECRETS, secret('registry', { user: encode('three') }, 'Opaque'));
    await untilCopied('registry', { user: encode('three') }, 'Opaque');
    const after = (await copies('registry', 'a')).map((copy) => copy?.metadata.uid);
    for (const uid of after) expect(before).not.toContain(uid);
  });

  test('that is not declared any more is removed everywhere, and the next one copied', async () => {
    await platform.create<Secret>(SECRETS, secret('mirror', dockerconfig('mirror')));
    await configure(['mirror']);
    await untilCopied('mirror', dockerconfig('mirror'));
    await eventually('the earlier copies are gone', async () => {
      const found = await Promise.all(NAMES.map((name) => copies('registry', name)));
      return found.flat().every((copy) => copy === undefined);
    });
    expect(await platform.get(SECRETS, 'registry', PROVIDER_NAMESPACE)).toBeDefined();
  });

  test('is never written over one that is not a copy', async () => {
    await platform.create<Secret>(SECRETS, secret('clash', dockerconfig('ours')));
    const theirs = { name: 'clash', namespace: 'pulling-system' };
    await cluster('a').create<Secret>(SECRETS, { metadata: theirs, type: 'Opaque', data: { mine: encode('theirs') } });
    await configure(['mirror', 'clash']);
    const object = await stage.orders.until(
      'a',
      'refused',
      (now) => conditionOf(now, 'Ready')?.message.includes('is no copy of ours') ?? false,
    );
    expect(conditionOf(object, 'Ready')?.message).toContain('Secret pulling-system/clash on the mcp cluster');
    expect((await cluster('a').get<Secret>(SECRETS, theirs.name, theirs.namespace))?.data).toEqual({
      mine: encode('theirs'),
    });
    await configure(['mirror']);
    await stage.orders.until('a', 'Ready', isReady);
  });
});

describe('a change of what a provider refers to', () => {
  test('runs all objects again when contents changed, and none otherwise', async () => {
    for (const name of NAMES) await stage.orders.until(name, 'Ready', isReady);
    await stage.idle();
    const before = installs();
    // Of one that is not referred to, and of one that is, but not in its contents.
    await platform.create<ConfigMap>(CONFIG_MAPS, {
      metadata: { name: 'unrelated', namespace: PROVIDER_NAMESPACE },
      data: { value: 'x' },
    });
    await platform.mergePatch(
      SECRETS,
      'registry',
      { data: { user: encode('four') } },
      { namespace: PROVIDER_NAMESPACE },
    );
    await platform.mergePatch(
      SECRETS,
      'mirror',
      { metadata: { labels: { seen: 'yes' } } },
      { namespace: PROVIDER_NAMESPACE },
    );
    await platform.create<ConfigMap>(CONFIG_MAPS, {
      metadata: { name: 'settings', namespace: 'default' },
      data: { value: 'elsewhere' },
    });
    // One after those that does concern them: when it has arrived, the others have as well.
    await platform.create<ConfigMap>(CONFIG_MAPS, {
      metadata: { name: 'settings', namespace: PROVIDER_NAMESPACE },
      data: { value: 'first' },
    });
    for (const name of NAMES)
      await eventually(
        `${name} has the new settings`,
        async () =>
          (await cluster(name).get<ConfigMap>(CONFIG_MAPS, `probe-${name}`, 'default'))?.data?.['foo'] === 'first',
      );
    await stage.idle();
    expect(installs()).toEqual(before.map((count) => count + 1));

    await platform.delete(CONFIG_MAPS, 'settings', { namespace: PROVIDER_NAMESPACE });
    for (const name of NAMES)
      await eventually(
        `${name} is without settings again`,
        async () =>
          (await cluster(name).get<ConfigMap>(CONFIG_MAPS, `probe-${name}`, 'default'))?.data?.['foo'] === 'none',
      );
  });
});

test('nothing is left of any copy when the objects are gone', async () => {
  for (const name of NAMES) await stage.orders.remove(name);
  for (const name of NAMES) await stage.orders.untilGone(name);
  for (const name of NAMES) {
    expect(await copies('mirror', name)).toEqual([undefined, undefined, undefined]);
    expect(await platform.get(CONFIG_MAPS, `pulling--${name}--copies`, mcpNamespace(name, PROJECT))).toBeUndefined();
  }
  expect(await platform.get(SECRETS, 'mirror', PROVIDER_NAMESPACE)).toBeDefined();
  expect((await cluster('a').get<Secret>(SECRETS, 'clash', 'pulling-system'))?.data).toEqual({
    mine: encode('theirs'),
  });
});
