import type { KubeList, KubeObject, ResourceType } from '../model/kubernetes.ts';

export interface ListOptions {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Only `metadata` is transferred and returned (`PartialObjectMetadata`). */
  metadataOnly?: boolean;
  /** Objects a page; the client follows `continue` by itself. Default: as many as are about 2 MiB, and at most 500. */
  pageSize?: number;
  /** Ask for so many and no more, whichever the server takes first. */
  atMost?: number;
}

export interface WatchOptions extends Omit<ListOptions, 'pageSize' | 'atMost'> {
  resourceVersion?: string;
  /** WatchList: the server sends what exists first, then a bookmark with `k8s.io/initial-events-end`. */
  sendInitialEvents?: boolean;
  timeoutSeconds?: number;
  signal: AbortSignal;
  /** The server has taken the request; there may be nothing to tell for a while. */
  opened?: () => void;
}

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

export interface WatchEvent<T extends KubeObject = KubeObject> {
  type: WatchEventType;
  /** For `ERROR` a `Status` with `code`. */
  object: T & { code?: number; message?: string; details?: { retryAfterSeconds?: number } };
}

export interface PatchOptions {
  namespace?: string | undefined;
  subresource?: 'status';
}

export interface ApplyOptions {
  /** Who owns the applied fields; default `service-provider-runtime`. */
  fieldManager?: string;
  /** Take over fields that another manager owns; default true, as controllers do. */
  force?: boolean;
  subresource?: 'status';
}

export interface DeleteOptions {
  namespace?: string | undefined;
  /** Delete only this incarnation; another one of that name gives a conflict. */
  uid?: string | undefined;
  /** Delete it only as it was read; a change since then gives a conflict. */
  resourceVersion?: string | undefined;
}

/**
 * Access to one cluster, or to one kcp workspace. Every method rejects with an `ApiError` unless it says otherwise, and
 * with a `STALE_HOLDER` error, before anything is sent, once the invocation that the client was made for has ended.
 */
export interface KubeClient {
  /** Base address, such as `https://host:6443/clusters/root:org`. */
  readonly server: string;
  /**
   * The object, or `undefined` when the server says that this very object does not exist. A type or workspace that is
   * not served is an `ApiError`, never `undefined`: absence of an answer is not absence of the object.
   */
  get<T extends KubeObject>(type: ResourceType, name: string, namespace?: string): Promise<T | undefined>;
  /** All pages. */
  list<T extends KubeObject>(type: ResourceType, options?: ListOptions): Promise<KubeList<T>>;
  /** A page after the other, so that no more than one has to be held. The last has the position from which to watch. */
  pages<T extends KubeObject>(type: ResourceType, options?: ListOptions): AsyncIterable<KubeList<T>>;
  watch<T extends KubeObject>(type: ResourceType, options: WatchOptions): AsyncIterable<WatchEvent<T>>;
  /** Rejects with an `ApiError` of status 409 and reason `AlreadyExists` where the name is taken. */
  create<T extends KubeObject>(type: ResourceType, object: T): Promise<T>;
  /** JSON merge patch. Put `metadata.resourceVersion` in it for optimistic locking (409 on conflict). */
  mergePatch<T extends KubeObject>(type: ResourceType, name: string, patch: object, options?: PatchOptions): Promise<T>;
  /** Server-side apply; creates the object where it does not exist. */
  apply<T extends KubeObject>(type: ResourceType, object: T, options?: ApplyOptions): Promise<T>;
  /** Asks for deletion; an object that is gone already is fine. True when it existed. */
  delete(type: ResourceType, name: string, options?: DeleteOptions): Promise<boolean>;
  /** Anything else, such as a `TokenRequest`. `path` starts with a slash and is appended to `server`. */
  post<T>(path: string, body: object): Promise<T>;
}
