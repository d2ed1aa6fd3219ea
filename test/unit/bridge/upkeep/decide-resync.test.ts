import { expect, test } from 'vitest';
import { worthALook } from '../../../../bridge/upkeep/decide-resync.ts';
import { resultOf } from '../../../../shared/events/outcome.ts';
import { formatObjectKey } from '../../../../shared/model/object-key.ts';
import { standardKey } from '../../functions/objects.ts';

const HOUR_MS = 3_600_000;
const of = resultOf({ object: 3, config: 7 });

/** Whether an object in its third generation, under the seventh of the ProviderConfig, gets the regular look. */
function looksAt(
  failure: { of: string; ageMs: number } | undefined,
  config: number | undefined = 7,
  sinceMs = HOUR_MS,
) {
  const notice = { key: standardKey, generation: 3, reason: 'Resync', priority: 'background' } as const;
  const failures = new Map(failure ? [[formatObjectKey(standardKey), failure]] : []);
  return [...worthALook([notice], failures, config, { limitMs: 24 * HOUR_MS, sinceMs })].length === 1;
}

test.each<[string, boolean, Parameters<typeof looksAt>]>([
  ['one that has not failed for good', true, [undefined]],
  ['one that has, and nothing has changed since', false, [{ of, ageMs: 1_000 }]],
  ['one that was changed since', true, [{ of: resultOf({ object: 2, config: 7 }), ageMs: 1_000 }]],
  ['one whose ProviderConfig was', true, [{ of, ageMs: 1_000 }, 8]],
  ['one whose ProviderConfig is gone', true, [{ of: resultOf({ object: 3, config: 6 }), ageMs: 1_000 }, undefined]],
  ['one that failed a day ago', true, [{ of, ageMs: 25 * HOUR_MS }, 7, 1_000 * HOUR_MS]],
  ['one that failed before this version of the bridge ran', true, [{ of, ageMs: 2 * HOUR_MS }]],
  ['one that failed while a new version was being rolled out', true, [{ of, ageMs: 1_000 }, 7, -1_000]],
])('the regular look at %s: %s', (_which, looked, given) => {
  expect(looksAt(...given)).toBe(looked);
});
