import foo, { configMapName } from '../../functions/providers/foo/provider.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { mcpNamespace } from '../../shared/names.ts';
import type { KcpTenants } from './kcp-tenants.ts';
import type { Orders } from './orders.ts';
import { configMapValue, requestsIn } from './requests.ts';
import { PROJECT, type Stage } from './stage.ts';
import { eventually } from './wait.ts';
import type { TenantWorkspace } from './workspaces.ts';

/** A Foo that is Ready, with all that belongs to it, in whichever mode. */
export interface Served {
  readonly name: string;
  readonly client: HttpKubeClient;
  readonly orders: Orders;
  readonly object: ServiceObject;
  readonly namespace: string;
  /** Its namespace on the platform. */
  readonly tenantNamespace: string;
  /** What is installed, on the end user's and on the workload cluster. */
  installed(): Promise<(string | undefined)[]>;
  /** What is left of it on the platform, and of ours in the workspace. */
  left(): Promise<string[]>;
}

export async function servedInStandard(stage: Stage, name: string): Promise<Served> {
  const { landscape, orders } = stage;
  const controlPlane = await landscape.createControlPlane(PROJECT, name);
  await orders.create(name, 'one');
  const object = await orders.untilReady(name);
  const tenantNamespace = mcpNamespace(name, PROJECT);
  const workload = await landscape.clusterOfRequest(tenantNamespace, `foo--${name}--wl`);
  const config = configMapName(`${PROJECT}/${name}`);
  return {
    name,
    client: landscape.onboarding.client,
    orders,
    object,
    namespace: PROJECT,
    tenantNamespace,
    installed: () =>
      Promise.all([configMapValue(controlPlane.client, config), configMapValue(workload, `${config}-wl`)]),
    left: () => requestsIn(landscape.platform.client, tenantNamespace, `foo--${name}--`),
  };
}

export async function servedInKcp(
  tenants: KcpTenants,
  name: string,
): Promise<Served & { readonly workspace: TenantWorkspace }> {
  const workspace = await tenants.bound(name);
  const orders = tenants.orders(workspace);
  await orders.create(name, 'one');
  const object = await orders.untilReady(name);
  const tenantNamespace = tenants.namespaceOf(workspace);
  const workload = await tenants.workloadCluster(workspace, name);
  const config = configMapName(workspace.logicalCluster);
  return {
    name,
    client: workspace.client,
    orders,
    object,
    namespace: 'default',
    tenantNamespace,
    workspace,
    installed: () => Promise.all([configMapValue(workspace.client, config), configMapValue(workload, `${config}-wl`)]),
    left: async () => [
      ...(await requestsIn(tenants.platform, tenantNamespace, '')),
      ...(await tenants.madeIn(workspace)),
    ],
  };
}

/** Takes all finalizers from it, as its tenant can; it may be gone by then. */
export async function strip({ client, name, namespace }: Served): Promise<void> {
  const patch = { metadata: { finalizers: null } };
  await client.mergePatch(foo.api.type, name, patch, { namespace }).catch(() => undefined);
}

export async function untilNothingIsLeft(served: Served): Promise<void> {
  await served.orders.untilGone(served.name);
  await eventually('nothing is left', async (seen) => {
    const found = [await served.left(), await served.installed()];
    seen(found);
    return found.flat().every((each) => each === undefined);
  });
}
