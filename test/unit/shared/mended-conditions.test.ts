import { describe, expect, test } from 'vitest';
import { forTenants } from '../../../functions/step/decide-tenant-view.ts';
import type { Condition } from '../../../shared/model/kubernetes.ts';
import { mergeConditions, reportProgressing, reportReady, type StatusReport, TYPE } from '../../../shared/status.ts';
import { condition, ownCondition as own } from '../functions/objects.ts';

const NOW = new Date('2026-05-05T05:05:05.678Z');
const VIEW = {
  uid: 'uid-1',
  internal: { servers: new Map(), namespaces: new Set<string>() },
  secrets: new Set<string>(),
};
const brought = (before: readonly Condition[], report: StatusReport): Condition[] =>
  mergeConditions(before, forTenants(report, VIEW).report.conditions, 1, NOW);

describe('a condition that a server would refuse, and the whole status with it', () => {
  test.each([
    ['two words', 'two_words'],
    ['', 'Ready_False'],
    ['1st', 'st'],
    ['42', 'Ready_False'],
    ['ends,', 'ends'],
    ['Ünicode', 'nicode'],
    ['a'.repeat(1_025), 'a'.repeat(1_024)],
    ['new\nline', 'new_line'],
  ])('the reason %j is mended, as the Go library does, to %j', (reason, mended) => {
    const conditions = brought([], reportProgressing(reason, 'm'));
    expect(conditions?.[0]).toMatchObject({ reason: mended, message: 'm' });
  });

  test.each([
    ['Is done?', 'Is_done'],
    ['example.org/Done', 'example.org/Done'],
    ['Example.org/Done', 'Example.org_Done'],
    ['a/b/c', 'a_b_c'],
    ['-Done-', 'Done'],
    ['T'.repeat(400), `${'T'.repeat(306)}--`],
  ])('the type %j is mended to %j', (type, mended) => {
    const conditions = brought([], { ...reportReady(), conditions: [own({ type })] });
    expect(conditions?.[0]?.type.startsWith(mended)).toBe(true);
    expect(conditions?.[0]?.type).toMatch(TYPE);
    expect(conditions?.[0]?.type.length).toBeLessThanOrEqual(316);
  });

  test('two that become equal are one, with the last word, and beside it all others are written', () => {
    const conditions = [...reportReady().conditions, own({ type: 'a b' }), own({ type: 'a_b', reason: 'Last' })];
    expect(brought([], { ...reportReady(), conditions }).map(({ type, reason }) => [type, reason])).toEqual([
      ['Ready', 'ReconcileSuccess'],
      ['a_b', 'Last'],
    ]);
  });

  test('what others have left there that a server refuses does not keep ours from being written', () => {
    const theirs = { ...condition('Their own', 'True', ''), lastTransitionTime: '' };
    const before = [theirs, condition('Twice', 'True', 'A'), condition('Twice', 'True', 'B')];
    const conditions = brought(before, reportReady());
    expect(conditions?.map(({ type, reason }) => [type, reason])).toEqual([
      ['Their_own', 'Their_own_True'],
      ['Twice', 'B'],
      ['Ready', 'ReconcileSuccess'],
    ]);
    expect(conditions?.[0]?.lastTransitionTime).toBe('2026-05-05T05:05:05Z');
  });

  test('a credential in a reason or a type is not made unrecognisable first', () => {
    const secret = 'tok.en-value';
    const report = { ...reportReady(), conditions: [own({ type: secret, reason: secret })] };
    const shown = JSON.stringify(forTenants(report, { ...VIEW, secrets: new Set([secret]) }));
    expect(shown).not.toMatch(/tok.en.value/);
  });
});
