import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { provisionExport } from '../../bridge/kcp/provision.ts';
import { retireSchemas } from '../../bridge/kcp/upkeep.ts';
import { onboardingRequestName, type OnboardingUse, orderOnboardingAccess } from '../../functions/access/onboarding.ts';
import foo, { configMapName } from '../../functions/providers/foo/provider.ts';
import { openKcpConnection } from '../../shared/kcp/connection.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { clientFor } from '../../shared/kube/connect.ts';
import {
  ACCESS_REQUESTS,
  API_RESOURCE_SCHEMAS,
  CLUSTER_REQUESTS,
  CONFIG_MAPS,
  SECRETS,
  SERVICE_PROVIDERS,
} from '../../shared/kube/resources.ts';
import { createLogger } from '../../shared/log.ts';
import type { AccessRequest, Secret } from '../../shared/model/access.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { OBJECT_ANNOTATION, workspaceNamespace } from '../../shared/names.ts';
import { serviceApi } from '../../shared/provider/service-api.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import type { Landscape } from '../support/landscape.ts';
import { DEPLOY, kustomized } from '../support/manifests.ts';
import { accountToken, letReadMetrics, metricsByHttps } from '../support/metrics-client.ts';
import { ordersIn, type Orders } from '../support/orders.ts';
import { LICENSE, SETTINGS, WITHDRAWN, WITHOUT_COPY } from '../support/providers/thorough-foo.ts';
import { configMapValue, requestsIn } from '../support/requests.ts';
import { RightsStage } from '../support/rights-stage.ts';
import { grantsOf, refused, unused } from '../support/rights.ts';
import { runCommand } from '../support/run-command.ts';
import { installProvider, KCP_SECRET, writeProviderConfig } from '../support/service.ts';
import { PROJECT } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

/**
 * The rights in `deploy/` are what is used: an API server writes down what each ServiceAccount asks for while everything
 * happens that a provider can do on the platform cluster.
 */

const NAMESPACE = 'foo-system';
const NAME = 'cp';
const PROVIDER = join(import.meta.dirname, '..', 'support', 'providers', 'thorough-foo.ts');
const workers = await kustomized(join(DEPLOY, 'worker'));
const deployments = workers.filter(({ kind }) => kind === 'Deployment');
const log = createLogger('error', 'rights');

const EXPORT = foo.kcp?.exportName ?? '';

let stage: RightsStage;
let landscape: Landscape;
let platform: HttpKubeClient;
let orders: Orders;
let controlPlane: ControlPlane;

beforeAll(async () => {
  stage = await RightsStage.create(join(inject('runFolder'), 'rights'), NAMESPACE, workers);
  ({ landscape, platform, orders } = stage);
});

afterAll(() => stage?.[Symbol.asyncDispose]());

const copyOfLicense = (): Promise<Secret | undefined> =>
  platform.get<Secret>(SECRETS, `sp-foo-${LICENSE}`, controlPlane.platformNamespace);

function writeLicense(text: string): Promise<Secret> {
  const data = { text: Buffer.from(text).toString('base64') };
  return platform.apply<Secret>(SECRETS, { metadata: { name: LICENSE, namespace: NAMESPACE }, data });
}

describe('everything that a provider can do on the platform cluster', () => {
  test('init installs and registers, and does it again', async () => {
    await platform.create(SERVICE_PROVIDERS, {
      metadata: { name: 'foo' },
      spec: { image: 'example.org/foo:v1' },
    } as KubeObject);
    const env = await stage.envOf('foo-init');
    const init = () => runCommand(['init', '--provider', PROVIDER, '--provider-name', 'foo'], env);
    expect(await init()).toMatchObject({ code: 0, stderr: '' });
    expect(await init()).toMatchObject({ code: 0, stderr: '' });
  });

  const ordering: [string, OnboardingUse][] = [
    ['foo-init', 'init'],
    ...deployments.map(({ metadata }): [string, OnboardingUse] => [metadata.name, 'run']),
  ];

  test.each(ordering)(
    '%s orders access to the onboarding cluster, with the rights of its version',
    async (account, use) => {
      const as = { ...foo, onboardingControllerName: account };
      const client = clientFor(await stage.credentialsOf(account));
      const order = () => orderOnboardingAccess(client, as, use, NAMESPACE, log, AbortSignal.timeout(60_000));
      await order();
      const name = onboardingRequestName(as, use);
      const ofEarlierVersion = { spec: { token: { permissions: [] } } };
      await platform.mergePatch(ACCESS_REQUESTS, name, ofEarlierVersion, { namespace: NAMESPACE });
      await order();
      const request = await platform.get<AccessRequest>(ACCESS_REQUESTS, name, NAMESPACE);
      expect(request?.spec.token?.permissions).toHaveLength(1);
    },
  );

  test('processes lead, become ready and show their metrics', async () => {
    await Promise.all([
      installProvider(landscape, foo, { kcp: true, namespace: NAMESPACE, config: { pollInterval: '0s' } }),
      writeLicense('one'),
      platform.apply(CONFIG_MAPS, { metadata: { name: SETTINGS, namespace: NAMESPACE } }),
    ]);
    controlPlane = await landscape.createControlPlane(PROJECT, NAME);
    const addresses = await stage.start(deployments, PROVIDER);
    const token = await accountToken(platform, 'prometheus');
    await letReadMetrics(platform, 'prometheus');
    const shown = addresses.map((address) =>
      eventually(`metrics at ${address}`, async () => (await metricsByHttps(address, token)).code === 200),
    );
    expect(await Promise.all(shown)).toHaveLength(5);
  });

  test('an order is served, with copies of a Secret', async () => {
    await orders.create(NAME, 'one');
    await orders.untilReady(NAME);
    expect(await copyOfLicense()).toBeDefined();
    const renewed = (await writeLicense('two')).data;
    await eventually('the copy follows', async () => (await copyOfLicense())?.data?.['text'] === renewed?.['text']);
    await orders.change(NAME, WITHOUT_COPY);
    await orders.untilReady(NAME);
    expect(await copyOfLicense()).toBeUndefined();
    await orders.change(NAME, 'two');
    await orders.untilReady(NAME);
    expect(await copyOfLicense()).toBeDefined();
    expect(await configMapValue(controlPlane.client, configMapName(`${PROJECT}/${NAME}`))).toBe('two');
  });

  test('its requests are adopted, and follow a change of the ProviderConfig', async () => {
    const lost = { metadata: { annotations: { [OBJECT_ANNOTATION]: null } } };
    const namespace = controlPlane.platformNamespace;
    for (const type of [CLUSTER_REQUESTS, ACCESS_REQUESTS])
      await platform.mergePatch(type, `foo--${NAME}--wl`, lost, { namespace });
    await writeProviderConfig(landscape, foo, { kcp: true, namespace: NAMESPACE, config: { pollInterval: '1h' } });
    for (const type of [CLUSTER_REQUESTS, ACCESS_REQUESTS]) {
      const leads = eventually(`the ${type.kind} leads to its object`, async () => {
        const request = await platform.get(type, `foo--${NAME}--wl`, namespace);
        return request?.metadata.annotations?.[OBJECT_ANNOTATION];
      });
      expect(await leads).toContain(NAME);
    }
  });

  test('what the next version of the provider does not need goes, and then all', async () => {
    const namespace = controlPlane.platformNamespace;
    expect(await platform.get(CLUSTER_REQUESTS, `foo--${NAME}--extra`, namespace)).toBeDefined();
    await stage.stop();
    await stage.start(deployments, PROVIDER, { [WITHDRAWN]: 'yes' });
    await eventually('withdrawn requests are gone', async (seen) => {
      const left = await requestsIn(platform, namespace, `foo--${NAME}--extra`);
      seen(left);
      return left.length === 0;
    });
    await stage.stop();
    await stage.start(deployments, PROVIDER);
    await orders.change(NAME, 'three');
    await orders.untilReady(NAME);
    await orders.remove(NAME);
    await orders.untilGone(NAME);
    expect(await requestsIn(platform, namespace, 'foo--')).toEqual([]);
  });

  test('a kcp workspace is served', async () => {
    const workspace = await landscape.createTenantWorkspace('rights');
    await landscape.bind(workspace, EXPORT);
    const ordered = ordersIn(workspace.client, foo.api.type, 'default');
    await ordered.create('mine', 'one');
    await ordered.untilReady('mine');
    expect(await configMapValue(workspace.client, configMapName(workspace.logicalCluster))).toBe('one');
    const namespace = workspaceNamespace('foo', workspace.logicalCluster);
    const spoilt = { data: { kubeconfig: Buffer.from('spoilt').toString('base64') } };
    const { metadata } = await platform.mergePatch<Secret>(SECRETS, 'foo--workspace--mcp', spoilt, { namespace });
    await eventually('its kubeconfig is made again', async () => {
      const now = await platform.get<Secret>(SECRETS, metadata.name, namespace);
      return now?.data?.['kubeconfig'] !== spoilt.data.kubeconfig;
    });
    await ordered.create('next', 'two');
    await ordered.untilReason('next', 'Rejected');
    await ordered.remove('mine');
    await ordered.untilGone('mine');
    await ordered.untilReady('next');
    await ordered.remove('next');
    await ordered.untilGone('next');
    await stage.stop();
  });
});

test('the next version of its type is exported, and the earlier one removed', async () => {
  const { group, version, kind } = foo.api.type;
  const spec = z.object({ foo: z.string().optional(), more: z.string().optional() });
  const next = { ...foo, api: serviceApi({ group, version, kind, spec }) };
  const settings = {
    providerWorkspace: landscape.services.path,
    kubeconfigSecret: { name: KCP_SECRET, namespace: NAMESPACE },
  };
  const { workspace } = await openKcpConnection(platform, settings);
  const { api } = await provisionExport(workspace, next, log);
  await retireSchemas(workspace, next, api, { inUse: [], graceMs: 0, log });
  const { items } = await workspace.list(API_RESOURCE_SCHEMAS);
  expect(items.map(({ metadata }) => metadata.name)).toEqual([next.api.apiResourceSchema().metadata.name]);
});

describe('of the rights on the platform cluster', () => {
  test('no ServiceAccount has one that it did not use', () => {
    expect(unused(grantsOf(workers), stage.uses(), NAMESPACE)).toEqual([]);
  });

  /** Asked in vain, and done without. */
  const IN_VAIN = [
    // Whether the type that init has installed is served already; its condition says almost the same.
    'foo-init: get providerconfigs.foo.services.open-control-plane.io',
  ];

  test('no ServiceAccount lacks one', () => {
    expect(refused(stage.uses())).toEqual(IN_VAIN);
  });
});

describe('of the rights in the provider workspace', () => {
  const USER = 'foo-service-provider';
  /** Asked for by kcp before it lets a request through, and not written down as a request of its own. */
  const BESIDES = [
    // Whatever goes through the virtual workspace of the APIExport; kcp knows no finer right than that. What is without it
    // stands in test/integration/provision.test.ts.
    `${USER}: * apiexports/content.apis.kcp.io`,
    // Given on to tenants, who may do all but write the status: nobody can give away what he does not have.
    `${USER}: * ${foo.api.type.plural}.${foo.api.type.group}`,
    `${USER}: get ${foo.api.type.plural}/status.${foo.api.type.group}`,
  ];

  test('the identity has none that it did not use', async () => {
    const grants = grantsOf(await kustomized(join(DEPLOY, 'kcp')));
    expect(unused(grants, stage.usesInKcp(USER), NAMESPACE)).toEqual(BESIDES);
  });

  test('the identity lacks none', () => {
    expect(refused(stage.usesInKcp(USER))).toEqual([]);
  });
});
