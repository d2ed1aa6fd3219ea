import { once } from 'node:events';

/** Resolves when the process is told to end. */
export async function toldToEnd(): Promise<void> {
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
}
