import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientFor } from '../../shared/kube/connect.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { formatKubeconfig, type ClusterCredentials } from '../../shared/kube/kubeconfig.ts';
import { auditIn } from './audit.ts';
import { findBinary } from './binaries.ts';
import { freePort } from './ports.ts';
import { startProcess, type ManagedProcess } from './processes.ts';
import { answersOk, isReady } from './readiness.ts';

export interface KubeApiserver {
  /** `https://127.0.0.1:port` */
  readonly server: string;
  /** Member of `system:masters`. */
  readonly admin: HttpKubeClient;
  readonly adminCredentials: ClusterCredentials;
  readonly kubeconfigPath: string;
  readonly apiserver: ManagedProcess;
  readonly etcd: ManagedProcess;
  /** What it wrote down, where that was asked for. */
  readonly auditLog: string;
  stop(): Promise<void>;
}

export interface KubeApiserverOptions {
  dir: string;
  /**
   * Also run kube-controller-manager. Without it namespaces are never finished, nothing is garbage-collected, and no
   * default ServiceAccounts appear.
   */
  controllerManager?: boolean;
  /** Write down who asks for what. */
  audit?: boolean;
  /** Further flags of the server. */
  args?: readonly string[];
}

/** Starts a plain Kubernetes API: etcd, kube-apiserver, and on demand kube-controller-manager, without any node. */
export async function startKubeApiserver({
  dir,
  controllerManager = false,
  audit = false,
  args = [],
}: KubeApiserverOptions): Promise<KubeApiserver> {
  mkdirSync(dir, { recursive: true });
  const started: ManagedProcess[] = [];
  const stop = async (): Promise<void> => {
    // What depends on another goes before it.
    for (const one of started.toReversed()) await one.stop();
  };
  try {
    const etcd = await startEtcd(dir);
    started.push(etcd.process);
    const written = auditIn(dir);
    const { apiserver, credentials } = await startApiserver(dir, etcd.url, [...(audit ? written.args : []), ...args]);
    started.push(apiserver);
    const kubeconfigPath = join(dir, 'admin.kubeconfig');
    writeFileSync(kubeconfigPath, formatKubeconfig(credentials), { mode: 0o600 });
    if (controllerManager) started.push(await startControllerManager(dir, kubeconfigPath, credentials));
    const admin = clientFor(credentials);
    const { server } = credentials;
    return {
      server,
      admin,
      adminCredentials: credentials,
      kubeconfigPath,
      apiserver,
      etcd: etcd.process,
      auditLog: written.log,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startEtcd(dir: string): Promise<{ process: ManagedProcess; url: string }> {
  const [url, peer] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
  const process = await startProcess({
    name: 'etcd',
    command: await findBinary('etcd'),
    args: [
      `--data-dir=${join(dir, 'etcd')}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      // Data of a test needs not survive a power cut, and syncing is most of the cost of a write.
      '--unsafe-no-fsync',
    ],
    logFile: join(dir, 'etcd.log'),
    ready: () => answersOk(`${url}/readyz`),
  });
  return { process, url };
}

async function startApiserver(
  dir: string,
  etcd: string,
  args: readonly string[],
): Promise<{ apiserver: ManagedProcess; credentials: ClusterCredentials }> {
  const port = await freePort();
  const server = `https://127.0.0.1:${port}`;
  const certificates = join(dir, 'certificates');
  const certificate = join(certificates, 'apiserver.crt');
  const key = serviceAccountKey(dir);
  const token = adminToken(dir);
  const credentials = (): ClusterCredentials => ({ server, ca: readFileSync(certificate, 'utf8'), token });
  const apiserver = await startProcess({
    name: 'kube-apiserver',
    command: await findBinary('kube-apiserver'),
    args: [
      `--etcd-servers=${etcd}`,
      `--secure-port=${port}`,
      '--bind-address=127.0.0.1',
      // It makes a self-signed certificate there, which is its own authority.
      `--cert-dir=${certificates}`,
      `--service-account-key-file=${key}`,
      `--service-account-signing-key-file=${key}`,
      `--service-account-issuer=${server}`,
      '--authorization-mode=RBAC',
      `--token-auth-file=${join(dir, 'tokens.csv')}`,
      '--service-cluster-ip-range=10.0.0.0/24',
      '--allow-privileged=true',
      ...args,
    ],
    logFile: join(dir, 'kube-apiserver.log'),
    ready: async () => existsSync(certificate) && (await isReady(credentials())),
  });
  return { apiserver, credentials: credentials() };
}

async function startControllerManager(
  dir: string,
  kubeconfig: string,
  { ca = '' }: ClusterCredentials,
): Promise<ManagedProcess> {
  const port = await freePort();
  const authority = join(dir, 'ca.crt');
  writeFileSync(authority, ca);
  return startProcess({
    name: 'kube-controller-manager',
    command: await findBinary('kube-controller-manager'),
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--authentication-kubeconfig=${kubeconfig}`,
      `--authorization-kubeconfig=${kubeconfig}`,
      `--service-account-private-key-file=${serviceAccountKey(dir)}`,
      `--root-ca-file=${authority}`,
      '--use-service-account-credentials=false',
      '--leader-elect=false',
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--cert-dir=${join(dir, 'controller-manager')}`,
    ],
    logFile: join(dir, 'kube-controller-manager.log'),
    ready: () => answersOk(`https://127.0.0.1:${port}/healthz`),
  });
}

function serviceAccountKey(dir: string): string {
  const file = join(dir, 'service-account.key');
  if (!existsSync(file)) {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    writeFileSync(file, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  }
  return file;
}

function adminToken(dir: string): string {
  const file = join(dir, 'tokens.csv');
  if (!existsSync(file)) {
    writeFileSync(file, `${randomBytes(16).toString('hex')},admin,admin,"system:masters"\n`, { mode: 0o600 });
  }
  return readFileSync(file, 'utf8').split(',')[0] as string;
}
