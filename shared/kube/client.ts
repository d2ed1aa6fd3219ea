import { apiVersionOf, type KubeList, type KubeObject, type ResourceType } from '../model/kubernetes.ts';
import { ApiError, isGone } from './api-error.ts';
import { nextPageSize } from './decide-page.ts';
import type { Manner } from './manner.ts';
import { collectionPath, objectPath } from './paths.ts';
import type {
  ApplyOptions,
  DeleteOptions,
  KubeClient,
  ListOptions,
  PatchOptions,
  WatchEvent,
  WatchOptions,
} from './ports.ts';
import { type PacedTransport, sendInTime } from './pauses.ts';
import { ServerClock } from './server-clock.ts';
import { FIELD_MANAGER, type Guard, type Request } from './transport.ts';
import { FIRST_PAGE_SIZE, REQUEST_TIMEOUT_MS } from '../tuning.ts';

const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

type RequestOptions = Pick<Request, 'query' | 'body' | 'contentType' | 'accept'>;

/** {@link KubeClient} over HTTP/1.1 with connections kept alive and shared by all clients of one cluster. */
export class HttpKubeClient implements KubeClient {
  readonly server: string;
  readonly #transport: () => PacedTransport;
  readonly #manner: Manner;

  constructor(server: string, transport: PacedTransport | (() => PacedTransport), manner?: Manner) {
    this.server = server.replace(/\/+$/, '');
    this.#transport = typeof transport === 'function' ? transport : () => transport;
    this.#manner = manner ?? { limitMs: REQUEST_TIMEOUT_MS, clock: new ServerClock() };
  }

  /** The same connections and identity at another address of the same server, e.g. another workspace. */
  at(server: string): HttpKubeClient {
    return new HttpKubeClient(server, this.#transport, this.#manner);
  }

  /** A client whose requests may take no longer than this, watches excepted. */
  within(limitMs: number): HttpKubeClient {
    return new HttpKubeClient(this.server, this.#transport, { ...this.#manner, limitMs });
  }

  /** Stops sending once `guard` throws and drops what is under way when `signal` (default: that of before) fires. */
  fenced(guard: Guard, signal = this.#manner.signal): HttpKubeClient {
    return new HttpKubeClient(this.server, this.#transport, { ...this.#manner, guard, signal });
  }

  /** The server's time, by its last answer. */
  now(): Date {
    return this.#manner.clock.now();
  }

  /**
   * A client that reads its credentials once more when the server does not know them (any more): a token may have been
   * replaced since it was read.
   * @param fresh a client with the credentials as they are now; `undefined` when they are still the same
   */
  renewable(fresh: () => Promise<HttpKubeClient | undefined>): HttpKubeClient {
    let current = this.#transport;
    let renewal: Promise<boolean> | undefined;
    let renewed = false;
    const renew = (): Promise<boolean> =>
      (renewal ??= fresh().then((client) => {
        if (!client) return false;
        current = () => ({ ...client.#transport(), address: () => client.#address() });
        return (renewed = true);
      }));
    const transport = (): PacedTransport => ({ ...current(), renew: renewed ? undefined : renew });
    return new HttpKubeClient(this.server, transport, this.#manner);
  }

  /** A client that answers "not yet" until `ready` resolves, so that nothing else has to wait for it. */
  static deferred(name: string, ready: Promise<HttpKubeClient>): HttpKubeClient {
    let transport: (() => PacedTransport) | undefined;
    ready.then(
      (client) => {
        transport = () => ({ ...client.#transport(), address: () => client.#address() });
      },
      () => undefined, // who made the promise deals with that
    );
    return new HttpKubeClient(name, () => {
      if (transport) return transport();
      throw new ApiError(name, 0, { reason: 'NoAnswer', message: 'access is not granted yet' });
    });
  }

  async get<T extends KubeObject>(type: ResourceType, name: string, namespace?: string): Promise<T | undefined> {
    try {
      return await this.#json<T>('GET', objectPath(type, name, namespace));
    } catch (error) {
      if (isGone(error, name)) return undefined;
      throw error;
    }
  }

  async list<T extends KubeObject>(type: ResourceType, options: ListOptions = {}): Promise<KubeList<T>> {
    const items: T[] = [];
    let metadata: KubeList<T>['metadata'] = {};
    for await (const page of this.pages<T>(type, options)) {
      ({ metadata } = page);
      items.push(...page.items);
      if (options.atMost !== undefined) break;
    }
    return { metadata, items };
  }

  async *pages<T extends KubeObject>(type: ResourceType, options: ListOptions = {}): AsyncGenerator<KubeList<T>> {
    let limit = options.atMost ?? options.pageSize ?? FIRST_PAGE_SIZE;
    let position: string | undefined;
    do {
      const { page, length } = await this.#page<T>(type, options, limit, position);
      yield { metadata: page.metadata, items: page.items ?? [] };
      position = page.metadata.continue;
      if (options.atMost === undefined && options.pageSize === undefined) limit = nextPageSize(limit, length);
    } while (position);
  }

  async #page<T extends KubeObject>(
    type: ResourceType,
    { namespace, labelSelector, fieldSelector, metadataOnly }: ListOptions,
    limit: number,
    position: string | undefined,
  ): Promise<{ page: KubeList<T>; length: number }> {
    const text = await this.#text('GET', collectionPath(type, namespace), {
      query: { labelSelector, fieldSelector, limit, continue: position },
      ...(metadataOnly ? { accept: METADATA_LIST } : {}),
    });
    return { page: JSON.parse(text) as KubeList<T>, length: text.length };
  }

  async *watch<T extends KubeObject>(type: ResourceType, options: WatchOptions): AsyncIterable<WatchEvent<T>> {
    const query = {
      watch: true,
      allowWatchBookmarks: true,
      labelSelector: options.labelSelector,
      fieldSelector: options.fieldSelector,
      resourceVersion: options.resourceVersion,
      timeoutSeconds: options.timeoutSeconds,
      ...(options.sendInitialEvents ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } : {}),
    };
    const request = this.#request('GET', collectionPath(type, options.namespace), options.signal, {
      query,
      ...(options.metadataOnly ? { accept: METADATA } : {}),
    });
    const response = await sendInTime(this.#transport, request, 0);
    options.opened?.();
    let rest = '';
    response.body.setEncoding('utf8');
    for await (const chunk of response.body as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '') yield JSON.parse(line) as WatchEvent<T>;
    }
  }

  create<T extends KubeObject>(type: ResourceType, object: T): Promise<T> {
    return this.#json<T>('POST', collectionPath(type, object.metadata.namespace), {
      body: typed(type, object),
      query: { fieldManager: FIELD_MANAGER },
    });
  }

  mergePatch<T extends KubeObject>(
    type: ResourceType,
    name: string,
    patch: object,
    options: PatchOptions = {},
  ): Promise<T> {
    return this.#json<T>('PATCH', objectPath(type, name, options.namespace, options.subresource), {
      body: patch,
      contentType: 'application/merge-patch+json',
      query: { fieldManager: FIELD_MANAGER },
    });
  }

  apply<T extends KubeObject>(type: ResourceType, object: T, options: ApplyOptions = {}): Promise<T> {
    const { name, namespace } = object.metadata;
    return this.#json<T>('PATCH', objectPath(type, name, namespace, options.subresource), {
      body: typed(type, object),
      contentType: 'application/apply-patch+yaml',
      query: { fieldManager: options.fieldManager ?? FIELD_MANAGER, force: options.force ?? true },
    });
  }

  async delete(type: ResourceType, name: string, options: DeleteOptions = {}): Promise<boolean> {
    const { namespace, uid, resourceVersion } = options;
    const preconditions = { ...(uid ? { uid } : {}), ...(resourceVersion ? { resourceVersion } : {}) };
    try {
      await this.#json('DELETE', objectPath(type, name, namespace), {
        body: {
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          propagationPolicy: 'Background',
          ...(uid || resourceVersion ? { preconditions } : {}),
        },
      });
      return true;
    } catch (error) {
      if (isGone(error, name)) return false;
      throw error;
    }
  }

  post<T>(path: string, body: object): Promise<T> {
    return this.#json<T>('POST', path, { body });
  }

  /** Where the server is now. */
  #address(): string {
    return this.#transport().address?.(this.server) ?? this.server;
  }

  async #json<T>(method: Request['method'], path: string, options: RequestOptions = {}): Promise<T> {
    return JSON.parse(await this.#text(method, path, options)) as T;
  }

  async #text(method: Request['method'], path: string, options: RequestOptions = {}): Promise<string> {
    const { limitMs, clock } = this.#manner;
    const request = this.#request(method, path, AbortSignal.timeout(limitMs), options);
    const response = await sendInTime(this.#transport, request, limitMs);
    clock.heard(response.headers['date']);
    return response.body.text();
  }

  #request(method: Request['method'], path: string, signal: AbortSignal, options: RequestOptions): Request {
    const { guard, signal: end } = this.#manner;
    return {
      ...options,
      method,
      path,
      server: this.server,
      guard,
      signal: end ? AbortSignal.any([end, signal]) : signal,
    };
  }
}

function typed<T extends KubeObject>(type: ResourceType, object: T): T {
  return { ...object, apiVersion: apiVersionOf(type), kind: type.kind };
}
