import { existsSync, readFileSync } from 'node:fs';
import { binaryFromEnvironment } from '../control-planes/executables.ts';
import { cachePath } from '../control-planes/binaries.ts';
import { buildBinary } from '../control-planes/go-build.ts';
import { type ManagedProcess, startProcess } from '../control-planes/processes.ts';

const NAME = 'go-peer';
const SOURCE = { module: NAME, package: '.', firstBuildMinutes: 5 };

/** The executable, from the first of these that has it: `GO_PEER_BINARY`, `PATH`, our cache, a build into our cache. */
export async function findGoPeer(): Promise<string> {
  const given = binaryFromEnvironment(NAME);
  if (given) return given;
  const folder = import.meta.dirname;
  const target = cachePath(NAME, folder, ['go.mod', 'go.sum', 'main.go']);
  if (!existsSync(target)) await buildBinary({ ...SOURCE, name: NAME, folder, target });
  return target;
}

export interface GoPeerOptions {
  /** Files with administrator's access. */
  platformKubeconfig: string;
  onboardingKubeconfig: string;
  providerName: string;
  logFile: string;
  /** How often it looks whether access was granted, such as `1s`; it does not watch. */
  retry?: string;
}

/** Starts the Go runtime with its Foo provider and resolves when it works. */
export async function startGoPeer(options: GoPeerOptions): Promise<ManagedProcess> {
  const { platformKubeconfig, onboardingKubeconfig, providerName, logFile, retry = '1s' } = options;
  const before = startsIn(logFile);
  return startProcess({
    name: NAME,
    command: await findGoPeer(),
    args: [
      `--platform=${platformKubeconfig}`,
      `--onboarding=${onboardingKubeconfig}`,
      `--provider-name=${providerName}`,
      `--retry=${retry}`,
    ],
    logFile,
    // It serves no probes; this line comes when its caches are filled.
    ready: () => Promise.resolve(startsIn(logFile) > before),
  });
}

function startsIn(logFile: string): number {
  return existsSync(logFile) ? readFileSync(logFile, 'utf8').split('Starting workers').length - 1 : 0;
}
