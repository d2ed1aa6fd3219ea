import { afterAll, beforeAll, expect, test } from 'vitest';
import foo from '../../functions/providers/foo/provider.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, NAMESPACES } from '../../shared/kube/resources.ts';
import type { AccessRequest, ClusterRequest } from '../../shared/model/access.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { mcpNamespace, OBJECT_ANNOTATION } from '../../shared/names.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import { requestsIn } from '../support/requests.ts';
import { createStage, PROJECT, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

/** Whether each control plane was there still when the provider's part was removed. */
const mcpGone = new Map<string, boolean>();
const watched: Provider = {
  ...foo,
  delete(ctx, object) {
    mcpGone.set(object.metadata.name, ctx.mcpGone);
    return foo.delete(ctx, object);
  },
};

let stage: Stage;
let platform: HttpKubeClient;

beforeAll(async () => {
  stage = await createStage({ provider: watched });
  platform = stage.landscape.platform.client;
  await stage.run();
});

afterAll(() => stage?.stop());

const namespaceOf = (name: string) => mcpNamespace(name, PROJECT);
const requests = (name: string) => requestsIn(platform, namespaceOf(name), `${foo.controllerName}--`);

async function installed(name: string): Promise<void> {
  await stage.landscape.createControlPlane(PROJECT, name);
  await stage.orders.create(name, '1');
  await stage.orders.untilReady(name);
}

/** As the platform does: the order of the control plane is withdrawn, and what gave access to it. */
async function withdraw(name: string): Promise<void> {
  const namespace = namespaceOf(name);
  await platform.delete(CLUSTER_REQUESTS, name, { namespace });
  await eventually(`ClusterRequest ${namespace}/${name} is gone`, async (seen) => {
    const request = await platform.get<ClusterRequest>(CLUSTER_REQUESTS, name, namespace);
    seen(request);
    return request === undefined;
  });
  await platform.delete(ACCESS_REQUESTS, `${foo.controllerName}--${name}--mcp`, { namespace });
}

test('an object whose control plane went before it is removed, with all that it has elsewhere', async () => {
  await installed('before');
  await withdraw('before');
  // As long as it is not being deleted it waits for a new one, and keeps what it has.
  await stage.orders.untilReason('before', 'ControlPlaneNotFound');
  expect(await requests('before')).toContain(`ClusterRequest/${foo.controllerName}--before--wl`);
  await stage.orders.remove('before');
  await stage.orders.untilGone('before');
  expect(mcpGone.get('before')).toBe(true);
  expect(await requests('before')).toEqual([]);
});

test('and one whose whole namespace on the platform is deleted, which then goes', async () => {
  await installed('all');
  await platform.delete(NAMESPACES, namespaceOf('all'));
  await stage.orders.remove('all');
  await stage.orders.untilGone('all');
  expect(mcpGone.has('all')).toBe(true);
  await eventually('the namespace is gone', async (seen) => {
    seen(await requests('all'));
    return (await platform.get(NAMESPACES, namespaceOf('all'))) === undefined;
  });
});

test.each([
  ['an earlier object of the name', 'earlier', 'foo|standard|onboarding|project-a|earlier|an-earlier-one'],
  ['nobody yet', 'nobody', null],
])('the end of a request that leads to %s is noticed by the object that waits for it', async (_whose, name, owner) => {
  const namespace = namespaceOf(name);
  const request = `${foo.controllerName}--${name}--mcp`;
  await installed(name);
  const access = () => platform.get<AccessRequest>(ACCESS_REQUESTS, request, namespace);
  const patch = (metadata: object) => platform.mergePatch(ACCESS_REQUESTS, request, { metadata }, { namespace });
  const { metadata } = await patch({ annotations: { [OBJECT_ANNOTATION]: owner } });
  await patch({ finalizers: [...(metadata.finalizers ?? []), 'elsewhere.example/hold'] });
  await platform.delete(ACCESS_REQUESTS, request, { namespace });
  await stage.orders.change(name, '2');
  await stage.orders.untilReason(name, 'WaitingForAccessRequestDeletion');
  await stage.idle();
  const { metadata: held } = (await access()) ?? { metadata: {} };
  const finalizers = (held as KubeObject['metadata']).finalizers?.filter((each) => !each.startsWith('elsewhere'));
  await patch({ finalizers });
  await eventually('it is ordered again', async () => (await access())?.metadata.uid !== metadata.uid);
  const object = await stage.orders.until(name, 'Ready', ({ status }) => status?.phase === 'Ready');
  expect((await access())?.metadata.annotations?.[OBJECT_ANNOTATION]).toContain(object.metadata.uid);
});
