import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 500;

/**
 * Waits until this process is the only one that holds the lock file, and returns what gives it back. A lock whose
 * process has died is taken over.
 * @param onWait called once when another process holds it
 */
export async function acquireLock(path: string, onWait: () => void): Promise<() => void> {
  for (let waited = false; ; waited = true) {
    try {
      writeFileSync(path, String(process.pid), { flag: 'wx' });
      const release = (): void => rmSync(path, { force: true });
      process.once('exit', release);
      return () => {
        process.off('exit', release);
        release();
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    if (holderIsDead(path)) {
      rmSync(path, { force: true });
      continue;
    }
    if (!waited) onWait();
    await sleep(POLL_MS);
  }
}

function holderIsDead(path: string): boolean {
  try {
    const holder = Number(readFileSync(path, 'utf8'));
    // Empty for an instant between its creation and the pid being written.
    if (!holder) return false;
    process.kill(holder, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
