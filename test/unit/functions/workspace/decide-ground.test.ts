import { describe, expect, test } from 'vitest';
import { decideGround, type SeenGround } from '../../../../functions/workspace/decide-ground.ts';

const PATIENCE = 1_000;
const ground = (seen: Partial<SeenGround>, deletingFor = 0) =>
  decideGround({ ours: 'there', objects: 'there', bindingDeleting: false, ...seen }, deletingFor, PATIENCE);

describe('a workspace that is deleted', () => {
  test.each(['terminating', 'absent'] as const)('is leaving once our namespace is %s', (ours) => {
    expect(ground({ ours, objects: 'terminating', bindingDeleting: true })).toBe('leaving');
  });

  test('is still there before kcp has begun with the namespaces', () => {
    expect(ground({ bindingDeleting: true })).toBe('there');
  });
});

describe('what only looks like it', () => {
  test('an unbinding tenant keeps his namespaces', () => {
    expect(ground({ bindingDeleting: true })).toBe('there');
    expect(ground({ bindingDeleting: true, ours: 'absent' })).toBe('there');
  });

  test("the object's namespace is deleted", () => {
    expect(ground({ objects: 'terminating' })).toBe('there');
  });

  test('both namespaces are deleted: ours can be made again once it is gone', () => {
    expect(ground({ objects: 'terminating', ours: 'terminating' })).toBe('unsettled');
    expect(ground({ objects: 'terminating', ours: 'absent' })).toBe('there');
  });
});

describe('patience', () => {
  test('ends for a namespace that never goes, and for a claim that is never accepted', () => {
    for (const ours of ['terminating', 'hidden'] as const) {
      expect(ground({ ours }, PATIENCE - 1)).toBe('unsettled');
      expect(ground({ ours }, PATIENCE)).toBe('leaving');
    }
  });

  test('is no reason to give up a workspace that is there', () => {
    expect(ground({}, PATIENCE * 100)).toBe('there');
  });
});
