import type { Logger } from 'pino';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { ResourceType } from '../../shared/model/kubernetes.ts';
import type { KnownObjects } from '../objects/followed.ts';
import type { Sender } from '../send/sender.ts';
import type { WatchTuning } from '../tuning.ts';
import type { Heard } from '../watch/decision.ts';
import { KindWatch, subjectOf } from '../watch/kind-watch.ts';
import type { Change } from '../watch/seen.ts';
import { objectsOfRequest } from './object-of-request.ts';
import { requestRelevance } from './request-relevance.ts';
import { type Request, type SeenRequest, seenRequest } from './seen-requests.ts';

export interface RequestWatchOptions {
  provider: string;
  platform: KubeClient;
  /** ClusterRequests or AccessRequests. */
  type: ResourceType;
  known: KnownObjects;
  sender: Sender;
  tuning: WatchTuning;
  log: Logger;
  /** Told of each change after it was taken in. */
  onChange?: (change: Change<SeenRequest>) => void;
}

/** Follows one kind of request on the platform cluster: its changes are changes of the object that waits for it. */
export function requestWatch(options: RequestWatchOptions): KindWatch<Request, SeenRequest> {
  const { provider, platform: client, type, known, sender, log, onChange } = options;
  const skipped = (request: SeenRequest, because: string): void => {
    if (!log.isLevelEnabled('debug')) return;
    log.debug({ request: `${type.kind} ${request.group}/${request.id}`, skipped: because }, 'change skipped');
  };
  const changed = (change: Change<SeenRequest>, heard: Heard): void => {
    onChange?.(change);
    const request = subjectOf(change);
    const decision = requestRelevance(change, heard);
    if (!decision.act) return skipped(request, decision.because);
    const keys = objectsOfRequest(request, heard, known);
    if ('because' in keys) return skipped(request, keys.because);
    for (const key of keys) sender.remember({ key, ...decision });
  };
  return new KindWatch<Request, SeenRequest>({
    ...options,
    client,
    name: `platform: ${type.plural}`,
    // Whole objects: what counts is in their status.
    digest: (request) => seenRequest(provider, request),
    changed: (changes, heard) => changes.forEach((change) => changed(change, heard)),
  });
}
