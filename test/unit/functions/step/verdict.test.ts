import { describe, expect, test } from 'vitest';
import { grantedAccess, type Verdict, worst } from '../../../../functions/step/verdict.ts';

const secret = (name: string) => ({ name, namespace: 'n', key: 'kubeconfig' });
const granted = (name: string): Verdict => ({ state: 'granted', secret: secret(name) });
const waiting: Verdict = { state: 'waiting', reason: 'W', message: 'w' };
const refused: Verdict = { state: 'refused', reason: 'R', message: 'r' };
const terminating: Verdict = { state: 'terminating', message: 't' };

describe('all of the access', () => {
  test('is granted only when every part of it is', () => {
    expect(grantedAccess({ mcp: granted('m'), workload: granted('w') })).toEqual({
      mcp: secret('m'),
      workload: secret('w'),
      renewAt: undefined,
    });
    for (const other of [waiting, refused, terminating]) {
      expect(grantedAccess({ mcp: granted('m'), workload: other })).toBeUndefined();
      expect(grantedAccess({ mcp: other, workload: granted('w') })).toBeUndefined();
      expect(grantedAccess({ mcp: other, workload: undefined })).toBeUndefined();
    }
  });

  test('is there for a deletion when the end user cluster is gone, as soon as the workload cluster can be reached', () => {
    const gone: Verdict = { state: 'gone', message: 'g' };
    expect(grantedAccess({ mcp: gone, workload: granted('w') })).toEqual({
      mcp: 'gone',
      workload: secret('w'),
      renewAt: undefined,
    });
    expect(grantedAccess({ mcp: gone, workload: waiting })).toBeUndefined();
    expect(worst({ mcp: gone, workload: waiting })).toBe(waiting);
  });

  test('needs no workload cluster where none is ordered', () => {
    expect(grantedAccess({ mcp: granted('m'), workload: undefined })).toMatchObject({
      mcp: secret('m'),
      workload: undefined,
    });
  });

  test('is renewed when the workspace access is', () => {
    const renewAt = new Date(5);
    expect(
      grantedAccess({ mcp: { state: 'granted', secret: secret('m'), renewAt }, workload: undefined })?.renewAt,
    ).toBe(renewAt);
  });
});

describe('what is shown of several that are not granted', () => {
  test.each([
    ['a refusal before a wait', waiting, refused, refused],
    ['a refusal before a removal', refused, terminating, refused],
    ['a wait before a removal', terminating, waiting, waiting],
    ['the first of two alike', waiting, { ...waiting, reason: 'second' }, waiting],
    ['the only one', granted('m'), terminating, terminating],
  ])('%s', (_what, mcp, workload, shown) => {
    expect(worst({ mcp, workload })).toEqual(shown);
  });

  test('nothing where all is granted', () => {
    expect(worst({ mcp: granted('m'), workload: granted('w') })).toBeUndefined();
    expect(worst({ mcp: granted('m'), workload: undefined })).toBeUndefined();
  });
});
