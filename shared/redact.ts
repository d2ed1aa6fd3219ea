/**
 * What looks like a credential, wherever it turns up, besides JSON web tokens. What surrounds it stays, so that a line of
 * JSON is still one; quotes may be escaped, once or more, where a text in JSON holds JSON. Each takes time that grows as
 * the text does, whatever is in it: tenants write into it.
 */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
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

/**
 * Removes credentials from a text that is about to be shown: known ones by value, others by their looks. Takes time that
 * grows as the text does.
 */
export function redact(text: string, secrets: Iterable<string> = []): string {
  let result = text;
  for (const secret of secrets) if (secret.length >= SHORTEST_SECRET) result = result.replaceAll(secret, '[redacted]');
  for (const secret of kept) result = result.replaceAll(secret, '[redacted]');
  return byLooks(result);
}

/** Whole runs of what a JSON web token is made of: looked for one by one, each character is met once. */
const TOKEN_RUN = /[A-Za-z0-9_.-]+/g;
const TOKEN_START = 'eyJ';
const SHORTEST_TOKEN_HEADER = 11;
const SHORTEST_TOKEN_PAYLOAD = 8;

function withoutTokens(text: string): string {
  return text.includes(TOKEN_START) ? text.replace(TOKEN_RUN, withoutTokensInRun) : text;
}

function withoutTokensInRun(run: string): string {
  if (!run.includes(TOKEN_START)) return run;
  const parts = run.split('.');
  const shown: string[] = [];
  for (let index = 0; index < parts.length; index++) {
    const [header = '', payload = '', signature = ''] = parts.slice(index, index + 3);
    const start = header.indexOf(TOKEN_START);
    const isToken =
      start !== -1 &&
      header.length - start >= SHORTEST_TOKEN_HEADER &&
      payload.length >= SHORTEST_TOKEN_PAYLOAD &&
      signature !== '';
    shown.push(isToken ? `${header.slice(0, start)}[redacted]` : header);
    if (isToken) index += 2;
  }
  return shown.join('.');
}

function byLooks(text: string): string {
  let result = withoutTokens(text);
  for (const [pattern, replacement] of PATTERNS) result = result.replace(pattern, replacement);
  return result;
}
