import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { journalled } from '../journal.ts';
import { heldCallFile, CALL_MS, JOURNAL_FILE, HOLD_FOLDER } from '../service-process.ts';

/** For processes of their own: Foo with a journal in a file, whose calls are held open while a file exists, or for a time. */
const POLL_MS = 20;
const journal = process.env[JOURNAL_FILE] ?? '';
const holds = process.env[HOLD_FOLDER] ?? '';
const callMs = Number(process.env[CALL_MS] ?? 0);

export default journalled(
  (entry) => appendFileSync(journal, `${JSON.stringify(entry)}\n`),
  (name, call) => async (ctx, object) => {
    while (existsSync(heldCallFile(holds, name, object.metadata.name)))
      await sleep(POLL_MS, undefined, { signal: ctx.signal });
    if (callMs > 0) await sleep(callMs, undefined, { signal: ctx.signal });
    return call(ctx, object);
  },
);
