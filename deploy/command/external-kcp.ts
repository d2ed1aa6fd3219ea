import type { ExternalKcp } from '../../shared/kcp/workspaces.ts';
import { authorityProblem } from '../../shared/kube/pem.ts';
import type { Environment } from './settings.ts';
import { refuse, settingsFile } from './settings-file.ts';

/**
 * How those who get a kubeconfig reach kcp, where that is not as the runtime does.
 * @throws RuntimeError `INVALID_SETTINGS` for a file that can't be read, or holds no certificates
 */
export function externalKcp(env: Environment): ExternalKcp | undefined {
  const { KCP_EXTERNAL_URL: url, KCP_EXTERNAL_CA_FILE: path, KCP_EXTERNAL_SERVER_NAME: tlsServerName } = env;
  if (url === undefined) return undefined;
  const ca = path === undefined ? undefined : settingsFile(path, 'KCP_EXTERNAL_CA_FILE');
  refuse('KCP_EXTERNAL_CA_FILE', authorityProblem(ca));
  return { url, ca, tlsServerName };
}
