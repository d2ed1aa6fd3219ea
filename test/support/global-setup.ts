import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { BINARY_NAMES, findBinary } from '../control-planes/binaries.ts';
import { startKcp } from '../control-planes/kcp.ts';
import { findGoPeer } from '../go-peer/go-peer.ts';
import { createRunFolder } from './run-folder.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Kubeconfig that the kcp of this run wrote; see `connectKcp`. */
    kcpKubeconfig: string;
    /** Folder for data and logs of this run. */
    runFolder: string;
  }
}

/** Starts the one kcp that all tests against real control planes share, and stops it after the last of them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Now, since a first build takes longer than any test may: one after another, for each uses all cores.
  for (const name of BINARY_NAMES) await findBinary(name);
  await findGoPeer();
  const folder = createRunFolder('service-provider-runtime-test');
  const kcp = await startKcp({ dir: join(folder.path, 'kcp') });
  project.provide('kcpKubeconfig', kcp.kubeconfigPath);
  project.provide('runFolder', folder.path);
  return async () => {
    await kcp.stop();
    const failed = project.vitest.state.getCountOfFailedTests() > 0 || process.exitCode;
    if (failed) process.stderr.write(`logs and data of this run: ${folder.path}\n`);
    else folder.remove();
  };
}
