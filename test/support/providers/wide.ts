import {
  existingCluster,
  existingRequest,
  newCluster,
  requestNamespaces,
} from '../../../shared/provider/registration.ts';
import { CLUSTER_REQUESTS } from '../../../shared/kube/resources.ts';
import { SYSTEM_NAMESPACE } from '../landscape-options.ts';
import { install, MANAGE_CONFIG_MAPS, probe, type ProbeContext, rule, uninstall } from '../probe.ts';

/** Not the one that would follow from the type. */
export const FINALIZER = 'probe.example/held';

interface Where {
  namespace: string;
}

/** Every kind of registration beside the two of simple access; rights on the end user cluster are computed. */
export const wide = probe<Where>('wide', {
  controllerName: 'Wide',
  finalizer: FINALIZER,
  access: {
    additionalData: async (object, config, io) => ({
      // Read from a cluster, which is what additional data is for.
      namespace: (await io.platform.get(CLUSTER_REQUESTS, object.metadata.name, io.tenantNamespace))
        ? (config.namespace ?? 'wide-system')
        : 'nowhere',
    }),
    mcp: (_object, _config, { namespace }) => ({
      permissions: [...(MANAGE_CONFIG_MAPS.permissions ?? []), { namespace, rules: [rule(['secrets'])] }],
    }),
    clusters: {
      extra: newCluster({ cluster: { purpose: 'workload' }, suffix: 'x', access: MANAGE_CONFIG_MAPS }),
      ordered: existingRequest({
        request: { name: 'onboarding', namespace: SYSTEM_NAMESPACE },
        namespace: requestNamespaces.mcp,
        access: () => MANAGE_CONFIG_MAPS,
      }),
      present: existingCluster({
        cluster: () => ({ name: 'onboarding', namespace: SYSTEM_NAMESPACE }),
        namespace: 'wide-requests',
        access: MANAGE_CONFIG_MAPS,
      }),
      bare: newCluster({ cluster: { purpose: 'workload' }, namespace: requestNamespaces.mcp }),
    },
  },
  createOrUpdate: async (ctx, object) => {
    for (const cluster of clustersOf(ctx)) await install(cluster, object);
  },
  delete: async (ctx, object) => {
    const results = await Promise.all(clustersOf(ctx).map((cluster) => uninstall(cluster, object)));
    return results.find((result) => result);
  },
});

function clustersOf(ctx: ProbeContext) {
  return [ctx.mcp, ...Object.values(ctx.clusters)].map(({ client }) => client);
}

/**
 * Another version of the same provider: two registrations less, one of them in a namespace that no other one is in, and no
 * access to another one any more.
 */
export const narrow = probe('wide', {
  controllerName: 'Wide',
  finalizer: FINALIZER,
  access: {
    mcp: MANAGE_CONFIG_MAPS,
    clusters: {
      ordered: existingRequest({
        request: { name: 'onboarding', namespace: SYSTEM_NAMESPACE },
        namespace: requestNamespaces.mcp,
      }),
      extra: newCluster({ cluster: { purpose: 'workload' }, suffix: 'x', access: MANAGE_CONFIG_MAPS }),
    },
  },
});
