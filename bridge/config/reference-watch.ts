import type { Logger } from 'pino';
import { messageOf } from '../../shared/errors.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { ResourceType } from '../../shared/model/kubernetes.ts';
import type { WatchTuning } from '../tuning.ts';
import type { Heard } from '../watch/decision.ts';
import { KindWatch, subjectOf } from '../watch/kind-watch.ts';
import type { Change } from '../watch/seen.ts';
import { type Contents, referenceRelevance, type SeenReference, seenReference } from './seen-references.ts';

export interface ReferenceWatchOptions {
  platform: KubeClient;
  /** Secrets or ConfigMaps. */
  type: ResourceType;
  /** The provider's own. */
  namespace: string;
  /** Names that the provider refers to at present; undefined while that isn't known yet. */
  referenced: () => readonly string[] | undefined;
  /** All objects have to be looked at again. */
  fanOut: () => void;
  tuning: WatchTuning;
  log: Logger;
}

/** Follows the Secrets or ConfigMaps that a provider refers to. */
export function referenceWatch(options: ReferenceWatchOptions): KindWatch<Contents, SeenReference> {
  const { platform: client, type, namespace, referenced, fanOut, log } = options;
  /** A provider's function that fails is said, and nothing is taken for referred to. */
  const names = (): ReadonlySet<string> | undefined => {
    try {
      const known = referenced();
      return known && new Set(known);
    } catch (error) {
      log.error({ problem: messageOf(error) }, `referenced${type.kind}s failed`);
      return new Set();
    }
  };
  const changed = (changes: readonly Change<SeenReference>[], heard: Heard): void => {
    const known = names();
    let needed = false;
    for (const change of changes) {
      const { group, id } = subjectOf(change);
      const decision = referenceRelevance(change, heard, known);
      needed ||= decision.act;
      if (decision.act) log.info({ reference: `${type.kind} ${group}/${id}` }, decision.reason);
      else log.debug({ reference: `${type.kind} ${group}/${id}`, skipped: decision.because }, 'change skipped');
    }
    if (needed) fanOut();
  };
  return new KindWatch<Contents, SeenReference>({
    ...options,
    client,
    name: `platform: ${type.plural}`,
    selection: { namespace },
    digest: seenReference,
    changed,
  });
}
