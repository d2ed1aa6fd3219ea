import { configMapName, foo } from '../../functions/providers/foo/provider.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { CONFIG_MAPS } from '../../shared/kube/resources.ts';
import type { KubeObject, ServiceObject } from '../../shared/model/kubernetes.ts';
import { mcpNamespace, workspaceNamespace } from '../../shared/names.ts';
import { conditionOf } from '../../shared/status.ts';
import type { Landscape } from '../support/landscape.ts';
import { type Orders, ordersIn } from '../support/orders.ts';
import type { TenantWorkspace } from '../support/workspaces.ts';

/** One Foo, where it lives, and where its ConfigMaps have to be. */
export interface Actor {
  mode: 'standard' | 'kcp';
  namespace: string;
  name: string;
  home: HttpKubeClient;
  /** The control plane, or the tenant's workspace. */
  endUser: HttpKubeClient;
  configMap: string;
  /** The tenant's namespace on the platform cluster. */
  tenantNamespace: string;
  /** What the tenant does. */
  orders: Orders;
}

/** A tenant on the onboarding cluster: a control plane, and a Foo named after it. */
export async function standardActor(landscape: Landscape): Promise<Actor> {
  const { namespace, name, client } = await landscape.createControlPlane('project-a', 'alice');
  return {
    mode: 'standard',
    namespace,
    name,
    home: landscape.onboarding.client,
    endUser: client,
    configMap: configMapName(`${namespace}/${name}`),
    tenantNamespace: mcpNamespace(name, namespace),
    orders: ordersIn(landscape.onboarding.client, foo.api.type, namespace),
  };
}

/** A tenant with a kcp workspace that binds the provider's APIExport. */
export async function kcpActor(landscape: Landscape): Promise<Actor & { workspace: TenantWorkspace }> {
  const exportName = foo.kcp?.exportName ?? '';
  const workspace = await landscape.createTenantWorkspace('bob');
  await landscape.bind(workspace, exportName);
  return {
    mode: 'kcp',
    namespace: 'default',
    name: 'bob',
    home: workspace.client,
    endUser: workspace.client,
    configMap: configMapName(workspace.logicalCluster),
    tenantNamespace: workspaceNamespace(foo.name, workspace.logicalCluster),
    orders: ordersIn(workspace.client, foo.api.type, 'default'),
    workspace,
  };
}

/** A line of the table that shows the result. */
export async function resultRow(actor: Actor, workload: HttpKubeClient): Promise<string[]> {
  const { home, endUser, namespace, name, mode, configMap } = actor;
  const object = await home.get<ServiceObject>(foo.api.type, name, namespace);
  const ready = object && conditionOf(object, 'Ready');
  const value = async (client: HttpKubeClient, each: string) => {
    const found = await client.get<KubeObject & { data?: Record<string, string> }>(CONFIG_MAPS, each, 'default');
    return found ? `foo=${found.data?.['foo'] ?? ''}` : 'missing';
  };
  return [
    mode,
    `${namespace}/${name}`,
    object?.status?.phase ?? 'gone',
    ready ? `${ready.status} (${ready.reason})` : '-',
    await value(endUser, configMap),
    await value(workload, `${configMap}-wl`),
  ];
}

export const RESULT_HEADER = ['MODE', 'FOO', 'PHASE', 'READY', 'CONFIGMAP (TENANT)', 'CONFIGMAP (WORKLOAD)'];
