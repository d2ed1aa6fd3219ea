import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { findBinary } from './binaries.ts';
import { freePort } from './ports.ts';
import { type ManagedProcess, startProcess } from './processes.ts';
import { answersOk } from './readiness.ts';
import { makeCertificates } from './redis-servers.ts';

export interface KedaOptions {
  dir: string;
  /** File with access to the cluster, which has its CRDs already. */
  kubeconfig: string;
}

/**
 * Starts KEDA's operator. It scales from none to one and back by itself; what lies above is done by an autoscaler that
 * asks KEDA's metrics server, which is not there.
 */
export async function startKeda({ dir, kubeconfig }: KedaOptions): Promise<ManagedProcess> {
  const certificates = join(dir, 'certificates');
  mkdirSync(certificates, { recursive: true });
  const { ca, server } = makeCertificates(certificates);
  copyFileSync(ca.cert, join(certificates, 'ca.crt'));
  copyFileSync(server.cert, join(certificates, 'tls.crt'));
  copyFileSync(server.key, join(certificates, 'tls.key'));
  const health = await freePort();
  return startProcess({
    name: 'keda-operator',
    command: await findBinary('keda-operator'),
    args: [
      `--health-probe-bind-address=127.0.0.1:${health}`,
      `--metrics-service-bind-address=127.0.0.1:${await freePort()}`,
      '--enable-prometheus-metrics=false',
      `--cert-dir=${certificates}`,
    ],
    cwd: dir,
    env: {
      KUBECONFIG: kubeconfig,
      POD_NAMESPACE: 'default',
      KEDA_CLUSTER_OBJECT_NAMESPACE: 'default',
      WATCH_NAMESPACE: '',
    },
    logFile: join(dir, 'keda-operator.log'),
    ready: () => answersOk(`http://127.0.0.1:${health}/readyz`),
  });
}
