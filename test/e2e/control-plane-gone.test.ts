import { afterAll, beforeAll, expect, test } from 'vitest';
import foo from '../../functions/providers/foo/provider.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, NAMESPACES } from '../../shared/kube/resources.ts';
import type { ClusterRequest } from '../../shared/model/access.ts';
import { mcpNamespace } from '../../shared/names.ts';
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
