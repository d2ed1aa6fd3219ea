import { KubeConfig } from '@kubernetes/client-node';
import { Agent, type Dispatcher } from 'undici';
import { messageOf } from '../errors.ts';
import { apiVersionOf, type KubeList, type KubeObject, type ResourceType } from '../model/kubernetes.ts';
import { ApiError, type ApiStatus } from './api-error.ts';
import type { ClusterCredentials } from './kubeconfig.ts';
import type {
  ApplyOptions,
  DeleteOptions,
  KubeClient,
  ListOptions,
  PatchOptions,
  WatchEvent,
  WatchOptions,
} from './ports.ts';

const REQUEST_TIMEOUT_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;
const DEFAULT_PAGE_SIZE = 500;
export const FIELD_MANAGER = 'service-provider-runtime';

/** Throws when the invocation that a client was made for may not send requests any more. */
export type Guard = () => void;

interface Transport {
  readonly dispatcher: Dispatcher;
  readonly authorization: () => Promise<string | undefined>;
  /** Replaces the client's own address, where that is only known later. */
  readonly address?: string;
  /** After a 401: whether there are other credentials by now, with which to try once more. */
  readonly renew?: (() => Promise<boolean>) | undefined;
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

interface RequestOptions {
  query?: Record<string, string | number | boolean | undefined>;
  body?: object;
  contentType?: string;
  accept?: string;
}

/** {@link KubeClient} over HTTP/1.1 with connections kept alive and shared by all clients of one cluster. */
export class HttpKubeClient implements KubeClient {
  readonly server: string;
  readonly #transport: () => Transport;
  readonly #guard: Guard | undefined;
  readonly #signal: AbortSignal | undefined;

  constructor(server: string, transport: Transport | (() => Transport), guard?: Guard, signal?: AbortSignal) {
    this.server = server.replace(/\/+$/, '');
    this.#transport = typeof transport === 'function' ? transport : () => transport;
    this.#guard = guard;
    this.#signal = signal;
  }

  /** The same connections and identity at another address of the same server, e.g. another workspace. */
  at(server: string): HttpKubeClient {
    return new HttpKubeClient(server, this.#transport, this.#guard, this.#signal);
  }

  /** A client that stops sending once `guard` throws and drops what is under way when `signal` fires. */
  fenced(guard: Guard, signal?: AbortSignal): HttpKubeClient {
    return new HttpKubeClient(this.server, this.#transport, guard, signal);
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
        current = () => ({ ...client.#transport(), address: client.server });
        return (renewed = true);
      }));
    const transport = (): Transport => ({ ...current(), renew: renewed ? undefined : renew });
    return new HttpKubeClient(this.server, transport, this.#guard, this.#signal);
  }

  /** A client that answers "not yet" until `ready` resolves, so that nothing else has to wait for it. */
  static deferred(name: string, ready: Promise<HttpKubeClient>): HttpKubeClient {
    let transport: Transport | undefined;
    ready.then(
      (client) => {
        transport = { ...client.#transport(), address: client.server };
      },
      () => undefined, // who made the promise deals with that
    );
    return new HttpKubeClient(name, () => {
      if (transport) return transport;
      throw new ApiError(name, 0, { reason: 'NoAnswer', message: 'access is not granted yet' });
    });
  }

  async get<T extends KubeObject>(type: ResourceType, name: string, namespace?: string): Promise<T | undefined> {
    try {
      return await this.#json<T>('GET', objectPath(type, name, namespace));
    } catch (error) {
      // A proper Status that names the object: only this means that it does not exist. A type or workspace that is not
      // served answers 404 in plain text, or without that name.
      if (error instanceof ApiError && error.reason === 'NotFound' && error.details?.name === name) return undefined;
      throw error;
    }
  }

  async list<T extends KubeObject>(type: ResourceType, options: ListOptions = {}): Promise<KubeList<T>> {
    const items: T[] = [];
    let page: KubeList<T> | undefined;
    do {
      page = await this.#json<KubeList<T>>('GET', collectionPath(type, options.namespace), {
        query: {
          labelSelector: options.labelSelector,
          fieldSelector: options.fieldSelector,
          limit: options.pageSize ?? DEFAULT_PAGE_SIZE,
          continue: page?.metadata.continue,
        },
        ...(options.metadataOnly ? { accept: METADATA_LIST } : {}),
      });
      items.push(...(page.items ?? []));
    } while (page.metadata.continue);
    return { metadata: page.metadata, items };
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
    const path = collectionPath(type, options.namespace);
    const response = await this.#send('GET', path, options.signal, {
      query,
      ...(options.metadataOnly ? { accept: METADATA } : {}),
    });
    if (response.statusCode !== 200) throw await this.#failure('GET', path, response);
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
    try {
      await this.#json('DELETE', objectPath(type, name, options.namespace), {
        body: {
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          propagationPolicy: 'Background',
          ...(options.uid ? { preconditions: { uid: options.uid } } : {}),
        },
      });
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.reason === 'NotFound' && error.details?.name === name) return false;
      throw error;
    }
  }

  post<T>(path: string, body: object): Promise<T> {
    return this.#json<T>('POST', path, { body });
  }

  async #json<T>(method: Method, path: string, options: RequestOptions = {}): Promise<T> {
    const timeout = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    const response = await this.#send(method, path, timeout, options);
    if (response.statusCode >= 300) throw await this.#failure(method, path, response);
    return (await response.body.json()) as T;
  }

  async #send(
    method: Method,
    path: string,
    signal: AbortSignal,
    options: RequestOptions,
  ): Promise<Dispatcher.ResponseData> {
    const transport = this.#transport();
    const response = await this.#sendBy(transport, method, path, signal, options);
    if (response.statusCode !== 401 || !transport.renew || !(await transport.renew())) return response;
    await response.body.dump();
    return this.#sendBy(this.#transport(), method, path, signal, options);
  }

  async #sendBy(
    transport: Transport,
    method: Method,
    path: string,
    signal: AbortSignal,
    options: RequestOptions,
  ): Promise<Dispatcher.ResponseData> {
    this.#guard?.();
    const url = new URL((transport.address ?? this.server) + path);
    for (const [name, value] of Object.entries(options.query ?? {}))
      if (value !== undefined && value !== '') url.searchParams.set(name, String(value));
    const authorization = await transport.authorization();
    // Looked at again: fetching the credential may have taken a while.
    this.#guard?.();
    try {
      return await transport.dispatcher.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        signal: this.#signal ? AbortSignal.any([this.#signal, signal]) : signal,
        headers: {
          accept: options.accept ?? 'application/json',
          'user-agent': FIELD_MANAGER,
          ...(authorization ? { authorization } : {}),
          ...(options.body ? { 'content-type': options.contentType ?? 'application/json' } : {}),
        },
        ...(options.body ? { body: JSON.stringify(options.body) } : {}),
      });
    } catch (error) {
      this.#guard?.();
      throw new ApiError(
        `${method} ${this.server}${path}`,
        0,
        { reason: 'NoAnswer', message: messageOf(error) },
        { cause: error },
      );
    }
  }

  async #failure(method: Method, path: string, response: Dispatcher.ResponseData): Promise<ApiError> {
    const text = await response.body.text().catch(() => '');
    let status: ApiStatus;
    try {
      status = JSON.parse(text) as ApiStatus;
    } catch {
      status = { message: text.slice(0, 200).trim() };
    }
    return new ApiError(`${method} ${this.server}${path}`, response.statusCode, status);
  }
}

const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

export function collectionPath(type: ResourceType, namespace?: string): string {
  const root = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  return namespace ? `${root}/namespaces/${encodeURIComponent(namespace)}/${type.plural}` : `${root}/${type.plural}`;
}

export function objectPath(type: ResourceType, name: string, namespace?: string, subresource?: string): string {
  const path = `${collectionPath(type, namespace)}/${encodeURIComponent(name)}`;
  return subresource ? `${path}/${subresource}` : path;
}

function typed<T extends KubeObject>(type: ResourceType, object: T): T {
  return { ...object, apiVersion: apiVersionOf(type), kind: type.kind };
}

/**
 * Idle connections are few and closed soon, since a runtime talks to as many clusters as it has tenants. No limit on
 * time without data: a watch is quiet for a minute at a time, and a request has its own time limit.
 */
function agentFor(tls: {
  ca?: string | Buffer;
  cert?: string | Buffer;
  key?: string | Buffer;
  servername?: string;
  rejectUnauthorized?: boolean;
}): Agent {
  return new Agent({
    connect: { ...tls, timeout: CONNECT_TIMEOUT_MS },
    keepAliveTimeout: 30_000,
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  });
}

/** A client for credentials that are plain data. */
export function clientFor(credentials: ClusterCredentials): HttpKubeClient {
  const { ca, clientCertificate: cert, clientKey: key, tlsServerName: servername, token, insecure } = credentials;
  const dispatcher = agentFor({
    ...(ca ? { ca } : {}),
    ...(cert ? { cert } : {}),
    ...(key ? { key } : {}),
    ...(servername ? { servername } : {}),
    ...(insecure ? { rejectUnauthorized: false } : {}),
  });
  return new HttpKubeClient(credentials.server, {
    dispatcher,
    authorization: () => Promise.resolve(token ? `Bearer ${token}` : undefined),
  });
}

const ROTATION_CHECK_MS = 60_000;

/**
 * A client for credentials that are replaced from time to time: the token is read again every minute. Server and
 * authority stay those of the first reading.
 */
export async function clientForRotating(read: () => Promise<ClusterCredentials>): Promise<HttpKubeClient> {
  let current = await read();
  let readAt = Date.now();
  const { server, ca, clientCertificate: cert, clientKey: key, tlsServerName: servername } = current;
  const dispatcher = agentFor({
    ...(ca ? { ca } : {}),
    ...(cert ? { cert } : {}),
    ...(key ? { key } : {}),
    ...(servername ? { servername } : {}),
  });
  return new HttpKubeClient(server, {
    dispatcher,
    authorization: async () => {
      if (Date.now() - readAt > ROTATION_CHECK_MS) {
        readAt = Date.now();
        // Unreadable for the moment: the token at hand may still be good.
        current = await read().catch(() => current);
      }
      return current.token ? `Bearer ${current.token}` : undefined;
    },
  });
}

/**
 * A client for the process's own configuration, which may use everything that a kubeconfig can (files that are rotated,
 * `exec` plugins), since whoever starts the process wrote it.
 */
export async function clientForOwnConfig(kubeConfig: KubeConfig): Promise<HttpKubeClient> {
  const server = kubeConfig.getCurrentCluster()?.server;
  if (!server) throw new Error('the kubeconfig has no current cluster');
  const read = async (): Promise<OwnOptions> => {
    const options: OwnOptions = {};
    await kubeConfig.applyToHTTPSOptions(options as Parameters<KubeConfig['applyToHTTPSOptions']>[0]);
    return options;
  };
  const { ca, cert, key, servername, rejectUnauthorized } = await read();
  const dispatcher = agentFor({
    ...(ca ? { ca } : {}),
    ...(cert ? { cert } : {}),
    ...(key ? { key } : {}),
    ...(servername ? { servername } : {}),
    ...(rejectUnauthorized === false ? { rejectUnauthorized } : {}),
  });
  return new HttpKubeClient(server, {
    dispatcher,
    authorization: async () => {
      const options = await read();
      if (options.auth) return `Basic ${Buffer.from(options.auth).toString('base64')}`;
      return options.headers?.['Authorization'];
    },
  });
}

interface OwnOptions {
  ca?: string | Buffer;
  cert?: string | Buffer;
  key?: string | Buffer;
  servername?: string;
  rejectUnauthorized?: boolean;
  auth?: string;
  headers?: Record<string, string>;
}

/** `KUBECONFIG` (or `path`), else the in-cluster configuration; never a guess at `localhost`. */
export function ownKubeConfig(path?: string): KubeConfig {
  const config = new KubeConfig();
  if (path) config.loadFromFile(path);
  else config.loadFromCluster();
  return config;
}
