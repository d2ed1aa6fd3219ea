import { Agent, type Dispatcher } from 'undici';
import { messageOf, RuntimeError } from '../errors.ts';
import { ApiError, type ApiStatus } from './api-error.ts';
import { askedPauseMs } from './decide-pause.ts';
import { CONNECT_TIMEOUT_MS, IDLE_CONNECTION_MS } from '../tuning.ts';

/** How servers see us, and the owner of the fields that we apply. */
export const FIELD_MANAGER = 'service-provider-runtime';

/** Throws when the invocation that a client was made for may not send requests any more. */
export type Guard = () => void;

/** How requests get to one server, and as whom. Shared by all clients of a cluster. */
export interface Transport {
  readonly dispatcher: Dispatcher;
  readonly authorization: () => Promise<string | undefined>;
  /** The address in place of the one that is asked for, where that is only known later, or changes. */
  readonly address?: ((asked: string) => string) | undefined;
  /** After a 401: whether there are other credentials by now, with which to try once more. */
  readonly renew?: (() => Promise<boolean>) | undefined;
}

export interface Request {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Address of the client that asks. */
  server: string;
  path: string;
  signal: AbortSignal;
  guard?: Guard | undefined;
  query?: Record<string, string | number | boolean | undefined>;
  body?: object;
  contentType?: string;
  accept?: string;
}

/** Who a server has to be, and who we are to it. PEM. */
export interface TlsSettings {
  ca?: string | Buffer | undefined;
  cert?: string | Buffer | undefined;
  key?: string | Buffer | undefined;
  servername?: string | undefined;
  rejectUnauthorized?: boolean | undefined;
}

/**
 * Connections are kept alive over HTTP/1.1. Idle ones are few and closed soon, since a runtime talks to as many clusters
 * as it has tenants. No limit on time without data: a watch is quiet for a minute at a time, and a request has its own
 * time limit.
 */
export function agentFor({ ca, cert, key, servername, rejectUnauthorized }: TlsSettings): Agent {
  const tls = { ca, cert, key, servername, rejectUnauthorized };
  const given = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined && value !== ''));
  return new Agent({
    connect: { ...given, timeout: CONNECT_TIMEOUT_MS },
    keepAliveTimeout: IDLE_CONNECTION_MS,
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  });
}

/**
 * Sends a request; one that is answered with 401 once more, where there are other credentials by now.
 * @param transport asked anew for the second try
 * @throws ApiError of status 0 where there is no answer; RuntimeError `INVALID_KUBECONFIG` for a credential that would be
 * sent in clear text; whatever `guard` throws
 */
export async function send(transport: () => Transport, request: Request): Promise<Dispatcher.ResponseData> {
  const first = transport();
  const response = await sendBy(first, request);
  if (response.statusCode !== 401 || !first.renew || !(await first.renew())) return response;
  await response.body.dump();
  return sendBy(transport(), request);
}

async function sendBy(transport: Transport, request: Request): Promise<Dispatcher.ResponseData> {
  const { method, path, signal, guard, body } = request;
  guard?.();
  const url = new URL((transport.address?.(request.server) ?? request.server) + path);
  for (const [name, value] of Object.entries(request.query ?? {}))
    if (value !== undefined && value !== '') url.searchParams.set(name, String(value));
  const authorization = await transport.authorization();
  // Whoever wrote the address, an endpoint that a server names included.
  if (authorization && url.protocol !== 'https:')
    throw new RuntimeError('INVALID_KUBECONFIG', `${url.origin}: no credential is sent in clear text; use https:`);
  // Looked at again: fetching the credential may have taken a while.
  guard?.();
  try {
    return await transport.dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      signal,
      headers: {
        accept: request.accept ?? 'application/json',
        'user-agent': FIELD_MANAGER,
        ...(authorization ? { authorization } : {}),
        ...(body ? { 'content-type': request.contentType ?? 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  } catch (error) {
    guard?.();
    const status = { reason: 'NoAnswer', message: messageOf(error) };
    throw new ApiError(`${method} ${request.server}${path}`, 0, status, { cause: error, server: request.server });
  }
}

/** The error that an answer other than 2xx means. */
export async function failureOf(
  { method, server, path }: Pick<Request, 'method' | 'server' | 'path'>,
  response: Dispatcher.ResponseData,
): Promise<ApiError> {
  const text = await response.body.text().catch(() => '');
  let status: ApiStatus;
  try {
    status = JSON.parse(text) as ApiStatus;
  } catch {
    status = { message: text.slice(0, 200).trim() };
  }
  const { statusCode, headers } = response;
  const asked = askedPauseMs(statusCode, headers, status.details?.retryAfterSeconds);
  return new ApiError(`${method} ${server}${path}`, statusCode, status, { server, retryAfterMs: asked });
}
