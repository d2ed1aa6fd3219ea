import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { journalled } from '../journal.ts';
import { heldCallFile, JOURNAL_FILE, HOLD_FOLDER } from '../service-process.ts';

/** For processes of their own: Foo with a journal in a file, whose calls are held open while a file exists. */
const POLL_MS = 20;
const journal = process.env[JOURNAL_FILE] ?? '';
const holds = process.env[HOLD_FOLDER] ?? '';

export default journalled(
  (entry) => appendFileSync(journal, `${JSON.stringify(entry)}\n`),
  (name, call) => async (ctx, object) => {
    while (existsSync(heldCallFile(holds, name, object.metadata.name)))
      await sleep(POLL_MS, undefined, { signal: ctx.signal });
    return call(ctx, object);
  },
);
