import { expect, test } from 'vitest';
import {
  configStatusPatch,
  type ConfigWithStatus,
  endpoints,
  notProvisioned,
  provisioned,
} from '../../../../bridge/config/decide-config-status.ts';
import { RuntimeError } from '../../../../shared/errors.ts';
import { ApiError } from '../../../../shared/kube/api-error.ts';

const NOW = new Date('2026-01-01T00:00:00Z');
const config = (conditions: object[] = []): ConfigWithStatus =>
  ({ metadata: { name: 'foo', generation: 2, resourceVersion: '5' }, status: { conditions } }) as ConfigWithStatus;
const stored = (patch: object | undefined) => config((patch as { status: { conditions: object[] } }).status.conditions);

test('is written once, and not again while nothing differs', () => {
  const patch = configStatusPatch(config(), [provisioned(), endpoints(0)], NOW);
  expect(patch).toMatchObject({
    metadata: { resourceVersion: '5' },
    status: {
      conditions: [
        { type: 'Provisioned', status: 'True', observedGeneration: 2, lastTransitionTime: '2026-01-01T00:00:00Z' },
        { type: 'EndpointsReady', status: 'False', reason: 'NoBindings' },
      ],
    },
  });
  expect(configStatusPatch(stored(patch), [provisioned(), endpoints(0)], new Date())).toBeUndefined();
});

test('the time moves only when the status flips', () => {
  const before = stored(configStatusPatch(config(), [provisioned(), endpoints(1)], NOW));
  const later = configStatusPatch(before, [provisioned(), endpoints(2)], new Date('2026-01-01T01:00:00Z'));
  expect(stored(later).status?.conditions?.map((each) => each.lastTransitionTime)).toEqual([
    '2026-01-01T00:00:00Z',
    '2026-01-01T00:00:00Z',
  ]);
});

test('conditions of others stay, and ours go when kcp is not configured any more', () => {
  const others = { type: 'Theirs', status: 'True', reason: 'A', message: '', lastTransitionTime: 'x' };
  const before = config([others, { ...provisioned(), lastTransitionTime: 'x', observedGeneration: 2 }]);
  expect(configStatusPatch(before, [], NOW)).toMatchObject({ status: { conditions: [others] } });
  expect(configStatusPatch(config([others]), [], NOW)).toBeUndefined();
});

test('says why it could not be provisioned, without a credential', () => {
  expect(notProvisioned(new RuntimeError('INVALID_PROVIDER', 'v1.spec.a: type'))).toMatchObject({
    status: 'False',
    reason: 'IncompatibleSchema',
    message: 'v1.spec.a: type',
  });
  expect(notProvisioned(new ApiError('GET x', 403, { message: 'no' }))).toMatchObject({ reason: 'Refused' });
  expect(notProvisioned(new ApiError('GET x', 0, { message: 'refused' }))).toMatchObject({ reason: 'Unreachable' });
  expect(notProvisioned(new Error('Bearer abcdefghijklmnop')).message).not.toContain('abcdefghijklmnop');
});
