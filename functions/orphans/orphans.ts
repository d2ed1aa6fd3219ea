import { messageOf } from '../../shared/errors.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { isConflict } from '../../shared/kube/api-error.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import { type Owned, orphanVerdict, type OrphanVerdict } from './decide-orphans.ts';
import { findOwned } from './find.ts';
import { presenceOf, type PresencePorts } from './presence.ts';
import { removeOrphan } from './remove.ts';

export interface OrphanFinding {
  readonly owned: Owned;
  readonly verdict: OrphanVerdict;
  /** With `remove`, for an orphan. */
  readonly removal?: { readonly removed: true } | { readonly removed: false; readonly why: string };
}

/**
 * Looks at everything that the provider has on the platform cluster for tenants' objects, one after the other. With
 * `remove`, what is proven to be an orphan is deleted at once, while the proof is fresh.
 */
export async function* orphansOf(
  platform: KubeClient,
  provider: Provider,
  ports: PresencePorts,
  remove: boolean,
): AsyncGenerator<OrphanFinding> {
  for (const owned of await findOwned(platform, provider)) {
    const verdict = orphanVerdict(owned, await presenceOf(owned, ports));
    if (verdict.verdict !== 'orphan' || !remove) {
      yield { owned, verdict };
      continue;
    }
    try {
      await removeOrphan(platform, owned);
      yield { owned, verdict, removal: { removed: true } };
    } catch (error) {
      const why = isConflict(error) ? 'it was made anew meanwhile' : messageOf(error);
      yield { owned, verdict, removal: { removed: false, why } };
    }
  }
}
