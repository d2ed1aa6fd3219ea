import { cut } from '../errors.ts';

/** The fields of a `metav1.Status` that decisions need. */
export interface ApiStatus {
  reason?: string;
  message?: string;
  details?: { name?: string; kind?: string; retryAfterSeconds?: number };
}

export interface ApiErrorOptions extends ErrorOptions {
  server?: string;
  retryAfterMs?: number | undefined;
}

/** An answer other than 2xx from a Kubernetes API server. The message holds no credential. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status; 0 when there was no answer at all. */
  readonly status: number;
  readonly reason: string;
  readonly details: ApiStatus['details'];
  /** What the server said, or why it did not. */
  readonly answer: string;
  /** Address of the server, where the error came from a request. */
  readonly server: string | undefined;
  /** The server wants no such request before that. */
  readonly retryAfterMs: number | undefined;
  readonly #what: string;

  constructor(what: string, status: number, body: ApiStatus, options: ApiErrorOptions = {}) {
    super(cut(`${what}: ${status === 0 ? '' : `${status} `}${said(body)}`), options);
    this.#what = what;
    this.status = status;
    this.reason = body.reason ?? '';
    this.details = body.details;
    this.answer = cut(said(body));
    this.server = options.server;
    this.retryAfterMs = options.retryAfterMs;
  }

  /** The same, said again when so much of its time is left. */
  after(retryAfterMs: number): ApiError & { readonly retryAfterMs: number } {
    const { reason, answer: message, details, server } = this;
    const body = { reason, message, ...(details ? { details } : {}) };
    const again = new ApiError(this.#what, this.status, body, { ...(server ? { server } : {}), retryAfterMs });
    return again as ApiError & { readonly retryAfterMs: number };
  }
}

/** A server that a tenant runs may say anything, and anything but a text. */
function said({ message, reason }: ApiStatus): string {
  const found: unknown = message ?? reason;
  return typeof found === 'string' && found !== '' ? found : 'no explanation';
}

const is =
  (...statuses: number[]) =>
  (error: unknown): error is ApiError =>
    error instanceof ApiError && statuses.includes(error.status);

/** Anything may be missing: the object, its type, its workspace, a subresource. */
export const isNotFound = is(404);
export const isConflict = is(409);
export const isInvalid = is(422);
export const isForbidden = is(403);
export const isUnauthorized = is(401);
/** 401 and 403: the caller may not look, which says nothing about what is there. */
export const isDenied = is(401, 403);

/**
 * 401, 403 and 404: in a kcp workspace each may mean that it is gone, not bound, that a claim is missing, or that we may
 * not look. Nothing is concluded from that alone: the APIBindings tell.
 */
export const isUnclear = is(401, 403, 404);

/**
 * The server says that this very object does not exist: a proper Status that names it. A type or workspace that is not
 * served answers 404 in plain text, or without that name, and says nothing about the object.
 */
export function isGone(error: unknown, name: string): error is ApiError {
  return error instanceof ApiError && error.reason === 'NotFound' && error.details?.name === name;
}

/** When the server that gave this error wants to be asked again. */
export function retryAfterMs(error: unknown): number | undefined {
  return error instanceof ApiError ? error.retryAfterMs : undefined;
}

export function isAlreadyExists(error: unknown): error is ApiError {
  return isConflict(error) && error.reason === 'AlreadyExists';
}

/** What a server answers to a write from a state that is not the present one: whoever gets it reads again. */
export function conflictWith(what: string, message: string): ApiError {
  return new ApiError(what, 409, { reason: 'Conflict', message });
}
