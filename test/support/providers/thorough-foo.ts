import foo from '../../../functions/providers/foo/provider.ts';
import type { Provider } from '../../../shared/provider/provider.ts';
import { existingCluster, newCluster, requestNamespaces } from '../../../shared/provider/registration.ts';
import { SYSTEM_NAMESPACE } from '../landscape-options.ts';
import { MANAGE_CONFIG_MAPS } from '../probe.ts';

/** Set for its next version, which withdraws what this one registers. */
export const WITHDRAWN = 'WITHDRAWN_REGISTRATIONS';
/** In the provider's own namespace. */
export const LICENSE = 'license';
export const SETTINGS = 'settings';
/** The spec of an object that gets no copy of the license. */
export const WITHOUT_COPY = 'without-copy';

/** Foo with all that a provider can ask of the runtime on the platform cluster. */
const thoroughFoo: Provider = {
  ...foo,
  referencedSecrets: () => [
    {
      name: LICENSE,
      copyTo: ({ spec }) => ((spec as { foo?: string }).foo === WITHOUT_COPY ? [] : [{ cluster: 'tenant' as const }]),
    },
  ],
  referencedConfigMaps: () => [SETTINGS],
  access: {
    ...foo.access,
    clusters: process.env[WITHDRAWN]
      ? {}
      : {
          extra: newCluster({
            cluster: { purpose: 'workload' },
            access: MANAGE_CONFIG_MAPS,
            namespace: requestNamespaces.mcp,
          }),
          present: existingCluster({
            cluster: { name: 'onboarding', namespace: SYSTEM_NAMESPACE },
            namespace: 'foo-requests',
            access: MANAGE_CONFIG_MAPS,
          }),
        },
  },
};

export default thoroughFoo;
