import type { Condition, KubeObjectOf } from '../../shared/model/kubernetes.ts';

/** What only the far side of openMCP and kcp reads or writes; requests and Secrets are in `shared/model/access.ts`. */

export type Cluster = KubeObjectOf<{
  spec: { profile: string; purposes?: string[]; tenancy: 'Exclusive' | 'Shared'; kubernetes?: { version?: string } };
  status?: {
    observedGeneration: number;
    phase: string;
    conditions?: Condition[];
    apiServer?: string;
    endpoints?: { name: string; url: string }[];
    providerStatus?: { workspace?: string };
  };
}>;

export type Workspace = KubeObjectOf<{
  spec?: { cluster?: string; URL?: string; type?: { name: string; path: string } };
  status?: { phase?: string; conditions?: Condition[] };
}>;

export const PROVIDER_LABEL = 'clusters.openmcp.cloud/provider';
export const PROFILE_LABEL = 'clusters.openmcp.cloud/profile';

export const PENDING = 'Pending';
export const GRANTED = 'Granted';
export const DENIED = 'Denied';
