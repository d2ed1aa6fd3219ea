import type { ApiBinding } from './bindings.ts';
import type { HttpKubeClient } from '../kube/client.ts';
import type { ClusterCredentials } from '../kube/kubeconfig.ts';

/** How access to workspaces is made and unmade; settings of the process. */
export interface WorkspaceTuning {
  /** Asked for; the server may grant less, and its answer counts. */
  readonly tokenLifeSeconds: number;
  /** Renewal is due after this part of a token's life. */
  readonly renewalThreshold: number;
  /** A deletion that can't get what it needs from the workspace goes on without after this long. */
  readonly teardownPatienceMs: number;
}

export const DEFAULT_WORKSPACE_TUNING: WorkspaceTuning = {
  tokenLifeSeconds: 7 * 24 * 3600,
  renewalThreshold: 0.8,
  teardownPatienceMs: 600_000,
};

/** One tenant's kcp workspace, as far as the runtime reaches into it. */
export interface WorkspacePort {
  readonly logicalCluster: string;
  /** It does not bind the export any more, and has not for so long that it will not: nothing of it can be reached. */
  readonly gone?: true;
  readonly tuning: WorkspaceTuning;
  /** The workspace through the APIExport's virtual workspace: our type, APIBindings, and what the claims grant. */
  readonly virtual: HttpKubeClient;
  /**
   * The workspace itself, for the kubeconfig that is handed out. Server and CA come from the runtime's own
   * configuration, never from anything that a tenant can write.
   */
  credentials(token: string): ClusterCredentials;
  /** The same for the runtime's own calls: at the address by which the runtime itself reaches kcp. */
  ownCredentials(token: string): ClusterCredentials;
  /** The workspace's APIBinding of the export. */
  binding(): Promise<ApiBinding | undefined>;
  /** Whether the workspace still binds the APIExport, read from the APIBindings: a 403 tells nothing. */
  isBound(): Promise<boolean>;
}
