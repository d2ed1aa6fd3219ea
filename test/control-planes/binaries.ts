import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { binaryFromEnvironment } from './executables.ts';
import { buildBinary, type BinarySource } from './go-build.ts';

const SOURCES = {
  kcp: { module: 'kcp', package: 'github.com/kcp-dev/kcp/cmd/kcp', firstBuildMinutes: 11 },
  'kcp-front-proxy': { module: 'kcp', package: 'github.com/kcp-dev/kcp/cmd/kcp-front-proxy', firstBuildMinutes: 11 },
  etcd: { module: 'kcp', package: './etcd', firstBuildMinutes: 2 },
  'kube-apiserver': { module: 'kube-apiserver', package: 'k8s.io/kubernetes/cmd/kube-apiserver', firstBuildMinutes: 9 },
  'kube-controller-manager': {
    module: 'kube-apiserver',
    package: 'k8s.io/kubernetes/cmd/kube-controller-manager',
    firstBuildMinutes: 9,
  },
  'openmcp-operator': {
    module: 'openmcp',
    package: 'github.com/openmcp-project/openmcp-operator/cmd/openmcp-operator',
    firstBuildMinutes: 5,
  },
  kustomize: { module: 'kustomize', package: 'sigs.k8s.io/kustomize/kustomize/v5', firstBuildMinutes: 1 },
  'keda-operator': { module: 'keda', package: 'github.com/kedacore/keda/v2/cmd/operator', firstBuildMinutes: 7 },
} as const satisfies Record<string, BinarySource>;

export type BinaryName = keyof typeof SOURCES;

export const BINARY_NAMES = Object.keys(SOURCES) as BinaryName[];

/**
 * The path of a control plane's executable, from the first of these that has it: its environment variable
 * (`KCP_BINARY`, `KUBE_APISERVER_BINARY` …), `PATH`, our cache, a build into our cache.
 */
export async function findBinary(name: BinaryName): Promise<string> {
  const given = binaryFromEnvironment(name);
  if (given) return given;
  const cached = cachedBinary(name);
  if (existsSync(cached)) return cached;
  await buildBinary({ name, target: cached, folder: moduleFolder(SOURCES[name].module), ...SOURCES[name] });
  return cached;
}

/** Where the cache keeps this version of an executable, whether it is there or not. */
export function cachedBinary(name: BinaryName): string {
  return cachePath(name, moduleFolder(SOURCES[name].module), ['go.mod', 'go.sum']);
}

/** Where the cache keeps the executable that is built from these files of a folder. */
export function cachePath(name: string, folder: string, files: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(join(folder, file)));
  hash.update(name);
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return join(cache, 'service-provider-runtime', 'bin', `${name}-${hash.digest('hex').slice(0, 16)}`);
}

function moduleFolder(module: string): string {
  return join(import.meta.dirname, 'modules', module);
}
