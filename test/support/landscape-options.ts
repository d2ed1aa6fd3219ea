import type { PurposeMapping } from '../control-planes/openmcp-operator.ts';

/** Where openmcp-operator and shared clusters live on the platform. */
export const SYSTEM_NAMESPACE = 'openmcp-system';
export const PROFILE = 'kcp-workspace';
export const CLUSTER_PROVIDER = 'kcp';

/** Clusters that all requests of a purpose share, and that stay when the last request goes. */
function shared(): PurposeMapping {
  return {
    template: {
      metadata: { namespace: SYSTEM_NAMESPACE, labels: { 'clusters.openmcp.cloud/delete-without-requests': 'false' } },
      spec: { profile: PROFILE, tenancy: 'Shared' },
    },
  };
}

/** A cluster of its own for each control plane; one for all else. */
export const PURPOSE_MAPPINGS: Record<string, PurposeMapping> = {
  platform: shared(),
  onboarding: shared(),
  workload: shared(),
  mcp: { template: { spec: { profile: PROFILE, tenancy: 'Exclusive' } } },
};
