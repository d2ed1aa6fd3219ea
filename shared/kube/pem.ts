import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { messageOf } from '../errors.ts';

const CERTIFICATE = /-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----[^-]*-----END \1-----/g;

/** What is wrong with the certificates of authorities; Node takes anything, and then trusts nobody. */
export function authorityProblem(ca: string | undefined): string | undefined {
  if (ca === undefined) return undefined;
  const blocks = ca.match(CERTIFICATE) ?? [];
  if (blocks.length === 0) return 'holds no certificate in PEM';
  return problemOf(() => blocks.forEach((block) => new X509Certificate(block)));
}

/** What is wrong with a certificate and its key, such as that they don't belong together. */
export function pairProblem(cert: string | undefined, key: string | undefined): string | undefined {
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined) return 'a certificate needs its key, and a key its certificate';
  return problemOf(() => createSecureContext({ cert, key }));
}

function problemOf(use: () => unknown): string | undefined {
  try {
    use();
    return undefined;
  } catch (error) {
    return `not valid PEM (${messageOf(error)})`;
  }
}
