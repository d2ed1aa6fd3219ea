import type { KubeClient } from '../kube/ports.ts';
import { type Duration, requeueMs } from '../model/duration.ts';
import { AGAIN_LEAST_MS } from '../tuning.ts';
import type { KubeList, KubeObject, ResourceType } from '../model/kubernetes.ts';
import type { StatusReporter } from './context.ts';
import { deletionBlocked, type KindCount } from './decide-blocked.ts';
import { unlessTypeGone } from './type-gone.ts';

export interface BlockDeletionOptions {
  /** The kinds of the service that tenants create; nothing but the provider knows them. */
  kinds: readonly ResourceType[];
  /** Leaves out what the provider itself created. `object` has metadata only. */
  except?: (object: KubeObject, kind: ResourceType) => boolean;
  /** When to look again; default 10 s, at least 1 s. */
  requeueAfter?: Duration;
}

/**
 * For the beginning of a provider's `delete`: while the tenant still has objects of the service, the deletion waits. The
 * object stays Terminating, with the condition `DeletionBlocked` that names kinds and counts.
 * ```ts
 * const blocked = await blockDeletion(ctx, { kinds: [GIT_REPOSITORIES] });
 * if (blocked) return blocked;
 * ```
 * @returns what `delete` has to return; `undefined` when nothing is left, and it can go on
 * @throws ApiError where a kind can't be counted: that is never taken for none
 */
export async function blockDeletion(
  ctx: { readonly mcp: { readonly client: KubeClient }; readonly status: StatusReporter },
  { kinds, except, requeueAfter = '10s' }: BlockDeletionOptions,
): Promise<{ requeueAfter: Duration } | undefined> {
  const { client } = ctx.mcp;
  const counts: KindCount[] = await Promise.all(
    kinds.map(async (kind) => ({
      kind: kind.kind,
      group: kind.group,
      count: (await existing(client, kind)).filter((object) => !except?.(object, kind)).length,
    })),
  );
  const condition = deletionBlocked(counts);
  ctx.status.condition(condition);
  if (condition.status === 'False') return undefined;
  ctx.status.progressing(condition.type, condition.message);
  // Nought would say that all is gone.
  return { requeueAfter: requeueMs({ requeueAfter }) ?? AGAIN_LEAST_MS };
}

const NONE: KubeList<KubeObject> = { metadata: {}, items: [] };

async function existing(client: KubeClient, kind: ResourceType): Promise<KubeObject[]> {
  const { items } = await unlessTypeGone(client, kind, client.list(kind, { metadataOnly: true }), NONE);
  return items;
}
