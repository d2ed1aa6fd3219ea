import type { KubeClient } from '../../shared/kube/ports.ts';
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  NAMESPACES,
  ROLE_BINDINGS,
  ROLES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from '../../shared/kube/resources.ts';
import type { ResourceType } from '../../shared/model/kubernetes.ts';
import { RUNTIME_LABEL } from '../../shared/names.ts';
import { type WorkspaceObject, workspaceNames } from './objects.ts';

/** Rights before the identity that has them. */
const REMOVAL_ORDER: readonly ResourceType[] = [
  ROLE_BINDINGS,
  CLUSTER_ROLE_BINDINGS,
  ROLES,
  CLUSTER_ROLES,
  SECRETS,
  SERVICE_ACCOUNTS,
];

/** Removes what the provider has in the workspace, found by our label, except for the objects to keep. */
export async function pruneWorkspaceObjects(
  virtual: KubeClient,
  provider: string,
  types: readonly ResourceType[],
  keep: readonly WorkspaceObject[],
): Promise<void> {
  const id = (type: ResourceType, metadata: { name: string; namespace?: string }) =>
    `${type.plural}/${metadata.namespace ?? ''}/${metadata.name}`;
  const kept = new Set(keep.map(({ type, object }) => id(type, object.metadata)));
  const labelSelector = `${RUNTIME_LABEL}=${provider}`;
  const lists = await Promise.allSettled(
    types.map((type) => virtual.list(type, { labelSelector, metadataOnly: true })),
  );
  for (const [index, list] of lists.entries()) {
    const type = types[index] as ResourceType;
    // A type that can't be listed fails at its turn: what comes before it, rights above all, has gone by then.
    if (list.status === 'rejected') throw list.reason;
    for (const { metadata } of list.value.items)
      if (!kept.has(id(type, metadata))) await virtual.delete(type, metadata.name, { namespace: metadata.namespace });
  }
}

/** Roles and bindings of permissions that are not declared any more. */
export function pruneRoles(virtual: KubeClient, provider: string, keep: readonly WorkspaceObject[]): Promise<void> {
  return pruneWorkspaceObjects(
    virtual,
    provider,
    REMOVAL_ORDER.filter((type) => type.group === ROLES.group),
    keep,
  );
}

/**
 * Removes all that the provider has in the workspace, rights before the identity that has them.
 * @throws ApiError 403 or 404 while a claim is not accepted
 */
export async function removeFromWorkspace(
  virtual: KubeClient,
  provider: string,
  keepNamespaces: boolean,
): Promise<void> {
  await pruneWorkspaceObjects(virtual, provider, REMOVAL_ORDER, []);
  if (!keepNamespaces) await virtual.delete(NAMESPACES, workspaceNames(provider).namespace);
}
