import { RuntimeError } from '../../shared/errors.ts';
import { CLUSTER_LABEL } from '../../shared/names.ts';

export type CrdTarget = 'onboarding' | 'platform';

interface LabelledCrd {
  metadata: { name: string; labels?: Record<string, string> };
}

/**
 * Which CRD goes onto which cluster, by its label `openmcp.cloud/cluster`.
 * @throws RuntimeError `INVALID_PROVIDER` naming the CRD whose label is missing or names no such cluster
 */
export function crdTargets(crds: readonly object[]): Record<CrdTarget, object[]> {
  const targets: Record<CrdTarget, object[]> = { onboarding: [], platform: [] };
  for (const crd of crds) {
    const { metadata } = crd as LabelledCrd;
    const label = metadata.labels?.[CLUSTER_LABEL];
    if (label !== 'onboarding' && label !== 'platform')
      throw new RuntimeError(
        'INVALID_PROVIDER',
        `CustomResourceDefinition ${metadata.name}: label ${CLUSTER_LABEL} is ${label ?? 'missing'}; ` +
          'set it to onboarding or platform',
      );
    targets[label].push(crd);
  }
  return targets;
}
