import { afterAll, beforeAll, expect, test } from 'vitest';
import { FaultRun } from '../faults/run.ts';
import { random, scriptOf, shrink, type Step } from '../faults/script.ts';

/**
 * Script after script, as many as `FAULT_SCRIPTS` says, from the seed `FAULT_SEED` on. One that breaks a promise is said
 * with its seed, and with the smallest script that breaks one too.
 */
const SCRIPTS = Number(process.env['FAULT_SCRIPTS'] ?? 20);
const SEED = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000);
const OPTIONS = { objects: 12, steps: 200, faults: 0.06 };
const SHRINK_ATTEMPTS = 15;

let run: FaultRun;

beforeAll(async () => {
  run = await FaultRun.start(OPTIONS.objects);
});

afterAll(() => run?.stop());

const next = random(SEED);
const seeds = Array.from({ length: SCRIPTS }, () => Math.floor(next() * 1_000_000));

test.each(seeds)(
  `no promise is broken (seed %i, of ${SEED})`,
  async (seed) => {
    const script = scriptOf({ ...OPTIONS, seed });
    const broken = await run.play(script);
    if (broken.length > 0) expect({ broken, smallest: await smallest(script) }).toEqual({ broken: [] });
    expect(broken).toEqual([]);
  },
  3_600_000,
);

/** Each attempt on a landscape of its own: what is broken stays in the history. */
async function smallest(script: readonly Step[]): Promise<readonly Step[]> {
  return shrink(
    script,
    async (part) => {
      const attempt = await FaultRun.start(OPTIONS.objects);
      try {
        return (await attempt.play(part)).length > 0;
      } finally {
        await attempt.stop();
      }
    },
    SHRINK_ATTEMPTS,
  );
}
