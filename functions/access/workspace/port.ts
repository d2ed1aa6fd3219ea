import type { HttpKubeClient } from '../../../shared/kube/client.ts';
import type { ClusterCredentials } from '../../../shared/kube/kubeconfig.ts';

/** One tenant's kcp workspace, as far as the runtime reaches into it. */
export interface WorkspacePort {
  readonly logicalCluster: string;
  /** The workspace through the APIExport's virtual workspace: our type, APIBindings, and what the claims grant. */
  readonly virtual: HttpKubeClient;
  /**
   * The workspace itself, for a token of a ServiceAccount in it. Server and CA come from the runtime's own
   * configuration, never from anything that a tenant can write.
   */
  credentials(token: string): ClusterCredentials;
  /** Whether the workspace still binds the APIExport, read from the APIBindings: a 403 tells nothing. */
  isBound(): Promise<boolean>;
}
