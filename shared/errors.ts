/**
 * The catalogue of errors that the runtime raises itself. Code matches on `code`, never on the message. `permanent`
 * ones are not retried before something changes; all others are retried with backoff and never given up.
 */
export const ERROR_CATALOGUE = {
  INVALID_KUBECONFIG: { permanent: false, summary: 'a kubeconfig is malformed or asks for something that is refused' },
  INVALID_PROVIDER_CONFIG: { permanent: true, summary: 'the ProviderConfig does not match its schema' },
  INVALID_OBJECT: { permanent: true, summary: "the object's spec does not match the provider's schema" },
  INVALID_EVENT: { permanent: true, summary: 'a CloudEvent is malformed' },
  INVALID_SETTINGS: { permanent: true, summary: 'a flag or environment variable is missing or wrong' },
  INVALID_PROVIDER: { permanent: true, summary: "the provider's definition is wrong" },
  FOREIGN_OBJECT: { permanent: false, summary: 'an object of the name we need belongs to somebody else' },
  STALE_HOLDER: { permanent: false, summary: 'the invocation may not write any more' },
  NOT_READY: { permanent: false, summary: 'something that is needed is not there yet' },
} as const satisfies Record<string, { permanent: boolean; summary: string }>;

export type ErrorCode = keyof typeof ERROR_CATALOGUE;

/** An error of the runtime. Its message is fit for a condition: it names the field or object and the remedy. */
export class RuntimeError extends Error {
  override readonly name = 'RuntimeError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  get permanent(): boolean {
    return ERROR_CATALOGUE[this.code].permanent;
  }
}

/**
 * Thrown by a provider for something that retrying can't mend (an invalid spec, a version that is not offered). The
 * object gets the reason and message and is looked at again when it, its access or the ProviderConfig changes, and when
 * all objects are, every 10 minutes.
 */
export class PermanentError extends Error {
  override readonly name = 'PermanentError';
  /** CamelCase word for the condition's `reason`. */
  readonly reason: string;

  constructor(message: string, options: ErrorOptions & { reason?: string } = {}) {
    super(message, options);
    this.reason = options.reason ?? 'ReconcileError';
  }
}

export function isRuntimeError(error: unknown, code: ErrorCode): boolean {
  return error instanceof RuntimeError && error.code === code;
}

/**
 * An error's text, fit to be worked on: at most {@link MAX_ERROR_LENGTH} characters, see {@link cut}. Others write what is
 * in it, a tenant among them: an API server's answer quotes what it refuses, however long that is.
 */
export function messageOf(error: unknown): string {
  return cut(error instanceof Error ? error.message : String(error));
}

/** Characters (UTF-16) of an error's text that are looked at, kept and shown. */
export const MAX_ERROR_LENGTH = 4_096;
const CUT = ' […]';

/** The text, or as much of its beginning as is allowed. Ends between two words: half a credential looks like none. */
export function cut(text: string, maxLength = MAX_ERROR_LENGTH): string {
  if (text.length <= maxLength) return text;
  let end = maxLength - CUT.length;
  while (end > 0 && !isSpace(text.charCodeAt(end))) end--;
  return `${text.slice(0, end)}${CUT}`.toWellFormed();
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}
