import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObjectOf, ResourceType } from '../../shared/model/kubernetes.ts';
import type { KubeApiserver } from '../control-planes/kube-apiserver.ts';
import { type ManagedProcess, startProcess } from '../control-planes/processes.ts';
import { answersOk } from '../control-planes/readiness.ts';
import { issueToken } from './cluster-provider/access.ts';
import { type ImageProcess, imageIn, inImage, type PodAccount } from './image.ts';

/** What the operator writes for a provider, and a kubelet that runs it in the image as a process of this machine. */

export const JOBS: ResourceType = { group: 'batch', version: 'v1', kind: 'Job', plural: 'jobs', namespaced: true };
export const DEPLOYMENTS: ResourceType = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
};

interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: { fieldRef: { fieldPath: string } };
}

export type PodOwner = KubeObjectOf<{
  spec: {
    replicas?: number;
    template: { spec: { serviceAccountName: string; containers: { args: string[]; env: EnvVar[] }[] } };
  };
}>;

export interface Pod {
  name: string;
  args: string[];
  env: Record<string, string>;
  account: PodAccount;
  dir: string;
}

/** The only container of a Job or Deployment as a pod of that name would run it, with the token of its ServiceAccount. */
export async function podOf(owner: PodOwner, name: string, platform: KubeApiserver, dir: string): Promise<Pod> {
  const { serviceAccountName, containers } = owner.spec.template.spec;
  const namespace = owner.metadata.namespace ?? '';
  const [container] = containers;
  if (!container) throw new Error(`${owner.metadata.name} has no container`);
  const fields: Record<string, string> = {
    'metadata.name': name,
    'metadata.namespace': namespace,
    'status.podIP': '127.0.0.1',
    'spec.serviceAccountName': serviceAccountName,
  };
  const env = container.env.map(({ name, value, valueFrom }) => [
    name,
    value ?? fields[valueFrom?.fieldRef.fieldPath ?? ''] ?? '',
  ]);
  const { token } = await issueToken(platform.admin, namespace, serviceAccountName, 3_600);
  const { server, ca = '' } = platform.adminCredentials;
  const values = Object.fromEntries(env) as Record<string, string>;
  const args = container.args.map((arg) => arg.replace(/\$\((\w+)\)/g, (asIs, field: string) => values[field] ?? asIs));
  return { name, args, env: values, account: { token, ca, server, namespace }, dir };
}

/** For what is mounted into it. */
export function folderOf({ name, dir }: Pick<Pod, 'name' | 'dir'>): string {
  return join(dir, `pod-${name}`);
}

function processOf(pod: Pod): ImageProcess {
  return inImage(imageIn(pod.dir), pod.args, pod.env, pod.account, folderOf(pod));
}

/** Runs a pod to its end. */
export async function runPod(pod: Pod, logFile: string): Promise<{ code: number | null; log: string }> {
  const { command, args, env } = processOf(pod);
  const log = openSync(logFile, 'a');
  const child = spawn(command, args, { stdio: ['ignore', log, log], env });
  closeSync(log);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  return { code, log: readFileSync(logFile, 'utf8') };
}

/** Starts a pod that is to stay, and resolves when it is ready, or as the test wants it. */
export function startPod(
  pod: Pod,
  options: { name: string; health: string; logFile: string; ready?: () => Promise<boolean> },
): Promise<ManagedProcess> {
  const { name, health, logFile, ready = () => answersOk(`http://${health}/readyz`) } = options;
  return startProcess({ name, ...processOf(pod), logFile, ready });
}
