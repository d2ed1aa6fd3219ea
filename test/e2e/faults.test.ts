import { afterAll, beforeAll, expect, test } from 'vitest';
import { FaultRun } from '../faults/run.ts';
import { scriptOf } from '../faults/script.ts';

/** Seeds that have found something once. */
const FOUND: readonly number[] = [];
const OPTIONS = { objects: 8, steps: 60, faults: 0.12 };

let run: FaultRun;

beforeAll(async () => {
  run = await FaultRun.start(OPTIONS.objects);
});

afterAll(() => run?.stop());

const seeds = [...FOUND, Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000)];

test.each(seeds)('no promise is broken, whatever tenants do and whatever fails (seed %i)', async (seed) => {
  expect(await run.play(scriptOf({ ...OPTIONS, seed }))).toEqual([]);
});
