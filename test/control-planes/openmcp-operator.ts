import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { findBinary } from './binaries.ts';
import { freePort } from './ports.ts';
import { startProcess, type ManagedProcess } from './processes.ts';
import { answersOk } from './readiness.ts';

/** How the scheduler answers ClusterRequests of one purpose. */
export interface PurposeMapping {
  /** How many requests share a cluster; 0 without limit. Only with `Shared`. */
  tenancyCount?: number;
  template: {
    metadata?: { namespace?: string; name?: string; labels?: Record<string, string> };
    spec: { profile: string; tenancy: 'Exclusive' | 'Shared' };
  };
}

export interface OpenmcpOperatorOptions {
  dir: string;
  /** File with access to the platform cluster. */
  kubeconfig: string;
  environment: string;
  purposeMappings: Record<string, PurposeMapping>;
  /** Also deploy providers: a Job and a Deployment for each ServiceProvider. */
  deployments?: boolean;
  /** Namespace that it takes for its own. */
  podNamespace?: string;
}

/**
 * Starts openmcp-operator with its scheduler (answers ClusterRequests with Clusters) and its AccessRequest controller
 * (says which cluster provider is responsible). The platform cluster must have the CRDs already.
 */
export async function startOpenmcpOperator(options: OpenmcpOperatorOptions): Promise<ManagedProcess> {
  const { dir, kubeconfig, environment, purposeMappings } = options;
  mkdirSync(dir, { recursive: true });
  const config = join(dir, 'openmcp-operator.yaml');
  writeFileSync(config, stringify({ scheduler: { scope: 'Cluster', purposeMappings } }));
  const binary = await findBinary('openmcp-operator');
  const port = await freePort();
  const logFile = join(dir, 'openmcp-operator.log');
  return startProcess({
    name: 'openmcp-operator',
    command: binary,
    args: [
      'run',
      '--environment',
      environment,
      '--kubeconfig',
      kubeconfig,
      '--config',
      config,
      '--controllers',
      `scheduler,accessrequest${options.deployments ? ',deploymentcontroller' : ''}`,
      '--health-probe-bind-address',
      `127.0.0.1:${port}`,
      '--metrics-bind-address',
      '0',
    ],
    cwd: dir,
    env: { POD_NAMESPACE: options.podNamespace ?? 'openmcp-system', POD_NAME: 'openmcp-operator' },
    logFile,
    ready: () => answersOk(`http://127.0.0.1:${port}/readyz`),
  });
}
