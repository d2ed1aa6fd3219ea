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

/** Removes credentials from a text that is about to be shown: known ones by value, others by their looks. */
export function redact(text: string, secrets: Iterable<string> = []): string {
  let result = text;
  for (const secret of secrets) if (secret.length >= SHORTEST_SECRET) result = result.replaceAll(secret, '[redacted]');
  for (const [pattern, replacement] of PATTERNS) result = result.replace(pattern, replacement);
  return result;
}
