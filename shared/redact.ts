/** What looks like a credential, wherever it turns up. */
const PATTERNS: readonly RegExp[] = [
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+/g, // JSON web token
  /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /(token|password|client-key-data|client-certificate-data)(["']?\s*[:=]\s*["']?)[^\s"',}]{6,}/gi,
  /(rediss?:\/\/[^:@/\s]*:)[^@/\s]+@/gi,
];
const SHORTEST_SECRET = 6;

/** Removes credentials from a text that is about to be shown: known ones by value, others by their looks. */
export function redact(text: string, secrets: Iterable<string> = []): string {
  let result = text;
  for (const secret of secrets) if (secret.length >= SHORTEST_SECRET) result = result.replaceAll(secret, '[redacted]');
  for (const pattern of PATTERNS) result = result.replace(pattern, '[redacted]');
  return result;
}
