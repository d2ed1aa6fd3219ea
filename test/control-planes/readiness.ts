import { get } from 'node:https';
import type { ClusterCredentials } from '../../shared/kube/kubeconfig.ts';

const TIMEOUT_MS = 5_000;

/**
 * Whether an API server answers `/readyz` with 200.
 * @throws Error with its answer otherwise, which names the checks that fail
 */
export function isReady(credentials: ClusterCredentials): Promise<true> {
  const { server, ca, token } = credentials;
  return new Promise((resolve, reject) => {
    const headers = token ? { authorization: `Bearer ${token}` } : {};
    const request = get(`${server}/readyz`, { ca, headers, timeout: TIMEOUT_MS, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () => (response.statusCode === 200 ? resolve(true) : reject(new Error(text.slice(-500)))));
    });
    request.on('timeout', () => request.destroy(new Error('no answer in time')));
    request.on('error', reject);
  });
}
