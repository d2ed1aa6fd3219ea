import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import { failureOf, agentFor, send } from '../../shared/kube/transport.ts';
import { objectPath } from '../../shared/kube/paths.ts';
import type { ClusterCredentials } from '../../shared/kube/kubeconfig.ts';
import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';
import { findBinary } from '../control-planes/binaries.ts';

/** An object as a manifest has it. */
export type Manifest = KubeObject & {
  apiVersion: string;
  kind: string;
  subjects?: { kind: string; name: string; namespace?: string }[];
  [field: string]: unknown;
};

const CLUSTER_SCOPED = new Set(['ClusterRole', 'ClusterRoleBinding', 'ServiceProvider', 'Namespace']);

export function documentsIn(file: string): Manifest[] {
  return documentsOf(readFileSync(file, 'utf8'));
}

function documentsOf(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}

/** What `kubectl apply -k` applies of a folder. */
export async function kustomized(folder: string): Promise<Manifest[]> {
  return documentsOf(execFileSync(await findBinary('kustomize'), ['build', folder], { encoding: 'utf8' }));
}

/** The same of a user's own kustomization, which puts an overlay of ours into another namespace. */
export async function kustomizedInto(namespace: string, overlay: string): Promise<Manifest[]> {
  const folder = mkdtempSync(join(tmpdir(), 'kustomization-'));
  try {
    const resources = [relative(realpathSync(folder), join(DEPLOY, overlay))];
    writeFileSync(join(folder, 'kustomization.yaml'), stringify({ namespace, resources }));
    return await kustomized(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export function typeOf({ apiVersion, kind }: Manifest): ResourceType {
  const [group, version] = apiVersion.includes('/') ? (apiVersion.split('/') as [string, string]) : ['', apiVersion];
  const plural = `${kind.toLowerCase()}s`.replace(/ys$/, 'ies');
  return { group, version, kind, plural, namespaced: !CLUSTER_SCOPED.has(kind) };
}

/** Server-side apply as a dry run: the server checks everything, unknown fields as well, and stores nothing. */
export async function dryRun(credentials: ClusterCredentials, manifest: Manifest): Promise<void> {
  const { server, ca, clientCertificate: cert, clientKey: key, token } = credentials;
  const dispatcher = agentFor({ ca, cert, key });
  const { name, namespace } = manifest.metadata;
  const request = {
    method: 'PATCH',
    server,
    path: objectPath(typeOf(manifest), name, namespace),
    signal: AbortSignal.timeout(30_000),
    body: manifest,
    contentType: 'application/apply-patch+yaml',
    query: { dryRun: 'All', fieldManager: 'manifests-test', force: true, fieldValidation: 'Strict' },
  } as const;
  const authorization = () => Promise.resolve(token ? `Bearer ${token}` : undefined);
  const response = await send(() => ({ dispatcher, authorization }), request);
  if (response.statusCode >= 300) throw await failureOf(request, response);
  await response.body.dump();
  await dispatcher.close();
}

export const DEPLOY = join(dirname(import.meta.dirname), '..', 'deploy');
