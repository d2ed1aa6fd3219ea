import { join } from 'node:path';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { formatKubeconfig } from '../../shared/kube/kubeconfig.ts';
import { clientFor } from '../../shared/kube/connect.ts';
import { API_RESOURCE_SCHEMAS, CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES } from '../../shared/kube/resources.ts';
import type { PolicyRule } from '../../shared/model/access.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import foo from '../../functions/providers/foo/provider.ts';
import type { Kcp } from '../control-planes/kcp.ts';
import { DEPLOY, documentsIn } from './manifests.ts';
import { eventually } from './wait.ts';

/** All that the runtime may do in its provider workspace. In tenants' workspaces it has no rights of its own. */
export const RULES = documentsIn(join(DEPLOY, 'kcp', 'rbac.yaml'))[0]?.['rules'] as PolicyRule[];

/** The same for a provider of another type. */
export function rulesFor({ group, plural }: { group: string; plural: string }): PolicyRule[] {
  const text = JSON.stringify(RULES).replaceAll(foo.api.type.group, group);
  return JSON.parse(text.replaceAll(`"${foo.api.type.plural}`, `"${plural}`)) as PolicyRule[];
}

let taken = 0;

/**
 * Gives a user of kcp's in the provider workspace what the runtime needs, and returns its kubeconfig. Each call takes
 * another user, and one that had the name before loses its rights. Not a ServiceAccount: kcp 0.30 writes into what it
 * remembers of a ServiceAccount's token with each request through a virtual workspace, and ends when two do so at once.
 * @param rules by default what `deploy/kcp` gives to Foo
 */
export async function createKcpIdentity(services: KubeClient, kcp: Kcp, name: string, rules = RULES): Promise<string> {
  const user = kcp.users[taken++ % kcp.users.length];
  if (!user) throw new Error('this kcp was started without users');
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user.name }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  await Promise.all([
    services.apply(CLUSTER_ROLES, { metadata: { name }, rules } as KubeObject),
    services.apply(CLUSTER_ROLE_BINDINGS, { metadata: { name }, roleRef, subjects } as KubeObject),
  ]);
  const credentials = { server: services.server, ca: kcp.adminCredentials.ca, token: user.token };
  // kcp hears of rights a moment after they were written.
  await eventually('its rights are in force', () => clientFor(credentials).list(API_RESOURCE_SCHEMAS));
  return formatKubeconfig(credentials);
}
