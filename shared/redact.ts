/**
 * What looks like a credential, wherever it turns up. What surrounds it stays, so that a line of JSON is still one; quotes
 * may be escaped, once or more, where a text in JSON holds JSON.
 */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+/g, '[redacted]'], // JSON web token
  [/\b(Bearer|Basic)(\s+)[A-Za-z0-9._~+/=-]{8,}/gi, '$1$2[redacted]'],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|(?="|$))/g, '[redacted]'],
  [
    /(token|password|client-key-data|client-certificate-data)(\\*["']?\s*[:=]\s*\\*["']?)[^\s"',}\\]{6,}/gi,
    '$1$2[redacted]',
  ],
  [/(rediss?:\/\/[^:@/\s]*:)[^@/\s]+@/gi, '$1[redacted]@'],
];
const SHORTEST_SECRET = 6;
/** Shorter ones might be part of any word. */
const SHORTEST_KEPT_SECRET = 12;
const MOST_KEPT_SECRETS = 1_000;

/** Credentials in use that don't look like any, most recently used last. */
const kept = new Set<string>();

/** From now on {@link redact} knows it in every text of this process, such as what a provider logs. */
export function keepSecret(secret: string): void {
  if (secret.length < SHORTEST_KEPT_SECRET || byLooks(secret) !== secret) return;
  kept.delete(secret);
  kept.add(secret);
  const [oldest] = kept;
  if (kept.size > MOST_KEPT_SECRETS && oldest !== undefined) kept.delete(oldest);
}

/** Removes credentials from a text that is about to be shown: known ones by value, others by their looks. */
export function redact(text: string, secrets: Iterable<string> = []): string {
  let result = text;
  for (const secret of secrets) if (secret.length >= SHORTEST_SECRET) result = result.replaceAll(secret, '[redacted]');
  for (const secret of kept) result = result.replaceAll(secret, '[redacted]');
  return byLooks(result);
}

function byLooks(text: string): string {
  let result = text;
  for (const [pattern, replacement] of PATTERNS) result = result.replace(pattern, replacement);
  return result;
}
