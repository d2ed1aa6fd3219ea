import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { failureOf, agentFor, send } from '../../shared/kube/transport.ts';
import { objectPath } from '../../shared/kube/paths.ts';
import type { ClusterCredentials } from '../../shared/kube/kubeconfig.ts';
import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';

/** An object as a manifest has it. */
export type Manifest = KubeObject & {
  apiVersion: string;
  kind: string;
  subjects?: { kind: string; name: string; namespace?: string }[];
  [field: string]: unknown;
};

interface Kustomization {
  resources: string[];
  namespace?: string;
  images?: { name: string; newName: string; newTag: string }[];
  patches?: { target: { group: string }; patch: string }[];
}

const CLUSTER_SCOPED = new Set(['ClusterRole', 'ClusterRoleBinding', 'ServiceProvider', 'Namespace']);

export function documentsIn(file: string): Manifest[] {
  return parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS() as Manifest);
}

/** What `kubectl kustomize` makes of a folder, as far as ours use it. */
export function kustomized(folder: string): Manifest[] {
  const {
    resources,
    namespace,
    images = [],
    patches = [],
  } = parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8')) as Kustomization;
  const found = resources.flatMap((resource) =>
    resource.endsWith('.yaml') ? documentsIn(join(folder, resource)) : kustomized(join(folder, resource)),
  );
  const left = found.filter(
    ({ apiVersion }) => !patches.some(({ target }) => apiVersion.startsWith(`${target.group}/`)),
  );
  const text = images.reduce(
    (all, { name, newName, newTag }) => all.replaceAll(`"image":"${name}"`, `"image":"${newName}:${newTag}"`),
    JSON.stringify(left),
  );
  return (JSON.parse(text) as Manifest[]).map((manifest) => (namespace ? inNamespace(manifest, namespace) : manifest));
}

function inNamespace(manifest: Manifest, namespace: string): Manifest {
  const metadata = CLUSTER_SCOPED.has(manifest.kind) ? manifest.metadata : { ...manifest.metadata, namespace };
  const subjects = manifest.subjects?.map((subject) =>
    subject.kind === 'ServiceAccount' ? { ...subject, namespace } : subject,
  );
  return { ...manifest, metadata, ...(subjects ? { subjects } : {}) };
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
