import { once } from 'node:events';
import { get } from 'node:https';
import { connect } from 'node:tls';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, SERVICE_ACCOUNTS } from '../../shared/kube/resources.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { issueToken } from './cluster-provider/access.ts';

const NAMESPACE = 'default';

/** Value of the first line of `/metrics` that starts so. */
export async function metric(address: string, start: string): Promise<number | undefined> {
  const text = await (await fetch(`http://${address}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(start));
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')));
}

/** `/metrics` by HTTPS, with a bearer token if there is one. */
export function metricsByHttps(
  address: string,
  token: string | undefined,
): Promise<{ code: number | undefined; text: string }> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    // Of its own making: nobody has signed it.
    const options = { headers, rejectUnauthorized: false, agent: false };
    get(`https://${address}/metrics`, options, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve({ code: response.statusCode, text }));
    }).on('error', reject);
  });
}

/** Common name in the certificate that a server shows. */
export async function certificateAt(address: string): Promise<string | undefined> {
  const [host, port] = address.split(':');
  const socket = connect({ host, port: Number(port), rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return subject.CN as string;
}

/** Token of a new ServiceAccount, which may do nothing. */
export async function accountToken(platform: KubeClient, name: string): Promise<string> {
  await platform.create(SERVICE_ACCOUNTS, { metadata: { name, namespace: NAMESPACE } });
  return (await issueToken(platform, NAMESPACE, name, 3_600)).token;
}

/** What a platform operator gives to whoever collects metrics. */
export async function letReadMetrics(platform: KubeClient, account: string): Promise<void> {
  const name = 'metrics-reader';
  const rules = [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }];
  await platform.apply(CLUSTER_ROLES, { metadata: { name }, rules } as KubeObject);
  await platform.apply(CLUSTER_ROLE_BINDINGS, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace: NAMESPACE }],
  } as KubeObject);
}

/** `/readyz` as somebody with that token reads it; undefined: as a kubelet does. */
export async function readiness(url: string, token?: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(url, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } });
  return { status: answer.status, text: await answer.text() };
}
