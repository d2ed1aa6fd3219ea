import type { Logger } from 'pino';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { ResourceType } from '../../shared/model/kubernetes.ts';
import type { WatchState } from '../watch/decide-watch.ts';
import { type KnownObjects, objectOfRequest } from '../objects/fan-out.ts';
import type { Sender } from '../send/sender.ts';
import type { Heard } from '../objects/relevance.ts';
import { requestRelevance } from './request-relevance.ts';
import { type Change, Seen } from '../watch/seen.ts';
import { type Request, type SeenRequest, seenRequest } from './seen-requests.ts';
import type { WatchTuning } from '../tuning.ts';
import { WatchLoop } from '../watch/loop.ts';

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
export class RequestWatch {
  readonly #options: RequestWatchOptions;
  readonly #seen = new Seen<SeenRequest>();
  readonly #loop: WatchLoop<Request, SeenRequest>;
  #listed = false;

  constructor(options: RequestWatchOptions) {
    this.#options = options;
    const { provider, platform, type, tuning, log } = options;
    this.#loop = new WatchLoop<Request, SeenRequest>(
      // Whole objects: what counts is in their status.
      { client: platform, type, digest: (request) => seenRequest(provider, request) },
      {
        replaced: (items) => this.#replaced(items),
        event: (kind, item) => this.#changed(this.#seen.apply(kind, item), 'watch'),
      },
      { tuning, log },
    );
  }

  get state(): WatchState {
    return this.#loop.state;
  }

  start(): void {
    this.#loop.start();
  }

  stop(): void {
    this.#loop.stop();
  }

  #replaced(items: readonly SeenRequest[]): void {
    const heard: Heard = this.#listed ? 'relist' : 'first-list';
    this.#listed = true;
    for (const change of this.#seen.replaceAll(items)) this.#changed(change, heard);
  }

  #changed(change: Change<SeenRequest> | undefined, heard: Heard): void {
    if (!change) return;
    const { known, sender, onChange } = this.#options;
    onChange?.(change);
    const request = change.kind === 'gone' ? change.before : change.now;
    const decision = requestRelevance(change, heard);
    if (!decision.act) return this.#skipped(request, decision.because);
    const key = objectOfRequest(request, heard, known);
    if ('because' in key) return this.#skipped(request, key.because);
    sender.remember({ key, ...decision });
  }

  #skipped(request: SeenRequest, because: string): void {
    const { type, log } = this.#options;
    if (!log.isLevelEnabled('debug')) return;
    log.debug({ request: `${type.kind} ${request.group}/${request.id}`, skipped: because }, 'change skipped');
  }
}
