import { blockDeletion } from '../../../shared/provider/block-deletion.ts';
import type { KubeObjectOf, ResourceType } from '../../../shared/model/kubernetes.ts';
import { MANAGE_CONFIG_MAPS, probe, rule, uninstall } from '../probe.ts';

/** What tenants create with the service, on their own cluster. */
export const THINGS: ResourceType = {
  group: 'things.example',
  version: 'v1',
  kind: 'Thing',
  plural: 'things',
  namespaced: true,
};
/** A kind that the service has in some versions only. */
const OTHERS: ResourceType = { ...THINGS, kind: 'Other', plural: 'others' };

/** A provider that stays as long as its tenants use it. */
export const leaving = probe('leaving', {
  access: {
    mcp: {
      permissions: [
        ...(MANAGE_CONFIG_MAPS.permissions ?? []),
        {
          rules: [
            rule(['things', 'others'], ['things.example']),
            rule(['customresourcedefinitions'], ['apiextensions.k8s.io']),
            // The test's clusters are kcp workspaces.
            rule(['apibindings'], ['apis.kcp.io']),
          ],
        },
      ],
    },
  },
  async delete(ctx, object) {
    if (object.spec.foo === 'stubborn' && leaving.deletes(object.metadata.name) < 3)
      throw new Error('the chart does not go');
    const blocked = await blockDeletion(ctx, {
      kinds: [THINGS, OTHERS],
      except: ({ metadata }) => metadata.labels?.['things.example/built-in'] === 'true',
      requeueAfter: '300ms',
    });
    if (blocked) return blocked;
    // Some versions of it have installed one of these, too.
    await ctx.mcp.client.delete(THINGS, 'built-in', { namespace: 'default' });
    return uninstall(ctx.mcp.client, object);
  },
});

export function thingsCrd(): KubeObjectOf<{ spec: object }> {
  return {
    metadata: { name: 'things.things.example' },
    spec: {
      group: 'things.example',
      scope: 'Namespaced',
      names: { kind: 'Thing', plural: 'things', singular: 'thing', listKind: 'ThingList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  };
}
