import { request as httpRequest } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import type { ClusterCredentials } from '../../shared/kube/kubeconfig.ts';

const TIMEOUT_MS = 5_000;

/**
 * Whether an API server answers `/readyz` with 200.
 * @throws Error with its answer otherwise, which names the checks that fail
 */
export function isReady({ server, ca, token }: ClusterCredentials): Promise<true> {
  return ask(`${server}/readyz`, { ca, headers: token ? { authorization: `Bearer ${token}` } : {} });
}

/**
 * Whether a health address on loopback, which needs no credentials, answers with 200.
 * @throws Error with its answer otherwise
 */
export function answersOk(url: string): Promise<true> {
  // A component makes a certificate for its health port by itself, which nobody has signed.
  return ask(url, { rejectUnauthorized: false });
}

function ask(url: string, options: RequestOptions): Promise<true> {
  const send = url.startsWith('https:') ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = send(url, { ...options, timeout: TIMEOUT_MS, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () => {
        if (response.statusCode === 200) resolve(true);
        else reject(new Error(`${response.statusCode} ${text.slice(-500)}`));
      });
    });
    request.on('timeout', () => request.destroy(new Error('no answer in time')));
    request.on('error', reject);
    request.end();
  });
}
