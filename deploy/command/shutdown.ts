import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { ANSWER_GRACE_MS, END_LIMIT_MS } from './tuning.ts';

/**
 * Resolves when the process is told to end. From then on it has {@link END_LIMIT_MS}: whatever hangs then, a server that
 * gives no answer or a provider that does not listen, is found again by whoever comes next.
 */
export async function toldToEnd(log: Logger): Promise<void> {
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  setTimeout(() => {
    log.warn('something did not end in time; the process does');
    process.exit();
  }, END_LIMIT_MS).unref();
}

/** Servers end, and answer those that they are talking to if that is soon: some wait for a cluster that does not answer. */
export async function closeSoon(...servers: readonly ({ close(): Promise<void> } | undefined)[]): Promise<void> {
  const closed = Promise.all(servers.map(async (server) => server?.close()));
  await Promise.race([closed, sleep(ANSWER_GRACE_MS, undefined, { ref: false })]);
}
