import { messageOf } from '../../shared/errors.ts';
import { ApiError, retryAfterMs } from '../../shared/kube/api-error.ts';
import { askedPauseMs } from '../../shared/kube/decide-pause.ts';
import type { KubeClient, ListOptions, WatchEvent } from '../../shared/kube/ports.ts';
import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';
import type { WatchEnd } from './decide-watch.ts';

export interface WatchTarget<T extends KubeObject, Digest> {
  /** At exactly the address that is watched: a resourceVersion belongs to one address only. */
  readonly client: KubeClient;
  readonly type: ResourceType;
  readonly selection?: Pick<ListOptions, 'namespace' | 'fieldSelector' | 'metadataOnly'>;
  /** What is kept of an object; `undefined` for one that is of no concern. */
  readonly digest: (object: T) => Digest | undefined;
}

/** What one watch tells while it lives. */
export interface WatchListener<Digest> {
  /** The server said something, if only that it has taken the request, or is alive. */
  heard(): void;
  replaced(items: readonly Digest[]): void;
  event(type: 'ADDED' | 'MODIFIED' | 'DELETED', item: Digest): void;
  /** All up to here was told; the next watch may go on from it. */
  reached(position: string | undefined): void;
}

/**
 * Lists all objects page by page.
 * @returns the position from which to watch
 */
export async function listInPages<T extends KubeObject, Digest>({
  client,
  type,
  selection,
  digest,
}: WatchTarget<T, Digest>): Promise<{ items: Digest[]; position: string | undefined }> {
  const items: Digest[] = [];
  let position: string | undefined;
  for await (const page of client.pages<T>(type, selection)) {
    for (const item of page.items) {
      const digested = digest(item);
      if (digested !== undefined) items.push(digested);
    }
    position = page.metadata.resourceVersion;
  }
  return { items, position };
}

/**
 * One watch until its end. Without a position it begins with all that exists, which is told as one when it is complete.
 * @throws whatever ended it otherwise; see {@link endOf}
 */
export async function watchOnce<T extends KubeObject, Digest>(
  { client, type, selection, digest }: WatchTarget<T, Digest>,
  listener: WatchListener<Digest>,
  options: { position: string | undefined; timeoutSeconds: number; signal: AbortSignal },
): Promise<WatchEnd> {
  const { position, timeoutSeconds, signal } = options;
  let initial: Digest[] | undefined = position === undefined ? [] : undefined;
  const start = position === undefined ? { sendInitialEvents: true } : { resourceVersion: position };
  const opened = (): void => listener.heard();
  for await (const event of client.watch<T>(type, { ...selection, ...start, timeoutSeconds, signal, opened })) {
    if (signal.aborted) break;
    listener.heard();
    if (event.type === 'ERROR') return errorEvent(event);
    if (event.type === 'BOOKMARK') {
      if (initial && !isEndOfInitialEvents(event)) return INITIAL_EVENTS_IGNORED;
      if (initial) listener.replaced(initial);
      initial = undefined;
    } else {
      const item = digest(event.object);
      if (item !== undefined && initial) initial.push(item);
      else if (item !== undefined) listener.event(event.type, item);
    }
    // Until the list is complete there is no position to go on from.
    if (!initial) listener.reached(event.object.metadata.resourceVersion);
  }
  return { kind: 'closed' };
}

/** How an error of {@link watchOnce} or {@link listInPages} ended the watch. */
export function endOf(error: unknown): WatchEnd {
  const status = error instanceof ApiError ? error.status : 0;
  // An event that can't be parsed would come again from the same position.
  return {
    kind: 'refused',
    status: error instanceof SyntaxError ? 500 : status,
    message: messageOf(error),
    retryAfterMs: retryAfterMs(error),
  };
}

/** A server that doesn't know the parameter and leaves it out. */
const INITIAL_EVENTS_IGNORED: WatchEnd = { kind: 'refused', status: 422, message: 'sendInitialEvents is ignored' };

function errorEvent({ object }: WatchEvent): WatchEnd {
  const { code = 0, message = 'ERROR event', details } = object;
  const askedMs = askedPauseMs(code, {}, details?.retryAfterSeconds);
  return { kind: 'refused', status: code, message, retryAfterMs: askedMs };
}

function isEndOfInitialEvents(bookmark: WatchEvent): boolean {
  return bookmark.object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true';
}
