import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startKcp } from '../control-planes/kcp.ts';
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
