import { X509Certificate } from 'node:crypto';
import { messageOf, RuntimeError } from '../../shared/errors.ts';
import type { ExternalKcp } from '../../shared/kcp/workspaces.ts';
import type { Environment } from './settings.ts';
import { settingsFile } from './settings-file.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/**
 * How those who get a kubeconfig reach kcp, where that is not as the runtime does.
 * @throws RuntimeError `INVALID_SETTINGS` for a file that can't be read, or holds no certificates
 */
export function externalKcp(env: Environment): ExternalKcp | undefined {
  const { KCP_EXTERNAL_URL: url, KCP_EXTERNAL_CA_FILE: path, KCP_EXTERNAL_SERVER_NAME: tlsServerName } = env;
  if (url === undefined) return undefined;
  return { url, ca: path === undefined ? undefined : certificates(path), tlsServerName };
}

function certificates(path: string): string {
  const text = settingsFile(path, 'KCP_EXTERNAL_CA_FILE');
  const found = text.match(CERTIFICATE) ?? [];
  const refuse = (why: string): RuntimeError =>
    new RuntimeError('INVALID_SETTINGS', `KCP_EXTERNAL_CA_FILE: ${path} ${why}; expected certificates as PEM`);
  if (found.length === 0) throw refuse('holds no certificate');
  try {
    found.map((each) => new X509Certificate(each));
  } catch (error) {
    throw refuse(`holds a certificate that can't be read (${messageOf(error)})`);
  }
  return text;
}
