import type { KubeClient } from '../../shared/kube/ports.ts';
import { formatKubeconfig, type ClusterCredentials } from '../../shared/kube/kubeconfig.ts';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, SERVICE_ACCOUNTS } from '../../shared/kube/resources.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { ensureNamespace, issueToken } from './cluster-provider/access.ts';
import type { PolicyRule } from './openmcp.ts';

const NAMESPACE = 'service-provider';
const LIFE_S = 7 * 86_400;
const ALL_VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];

/** All that the runtime may do in its provider workspace. In tenants' workspaces it has no rights of its own. */
export const RULES: PolicyRule[] = [
  { apiGroups: ['apis.kcp.io'], resources: ['apiexports/content'], verbs: ['*'] },
  {
    apiGroups: ['apis.kcp.io'],
    resources: ['apiexports', 'apiresourceschemas', 'apiexportendpointslices'],
    verbs: ALL_VERBS,
  },
  { nonResourceURLs: ['/'], verbs: ['access'] },
];

/** Makes the ServiceAccount that the runtime uses towards kcp, and returns its kubeconfig. */
export async function createKcpIdentity(
  services: KubeClient,
  credentials: ClusterCredentials,
  name: string,
): Promise<string> {
  const subjects = [{ kind: 'ServiceAccount', name, namespace: NAMESPACE }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  await ensureNamespace(services, NAMESPACE);
  await Promise.all([
    services.apply(SERVICE_ACCOUNTS, { metadata: { name, namespace: NAMESPACE } }),
    services.apply(CLUSTER_ROLES, { metadata: { name }, rules: RULES } as KubeObject),
    services.apply(CLUSTER_ROLE_BINDINGS, { metadata: { name }, roleRef, subjects } as KubeObject),
  ]);
  const { token } = await issueToken(services, NAMESPACE, name, LIFE_S);
  return formatKubeconfig({ server: services.server, ca: credentials.ca, token });
}
