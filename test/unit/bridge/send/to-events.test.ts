import { expect, test } from 'vitest';
import { shortType, toEvent } from '../../../../bridge/send/to-events.ts';
import { toCloudEvent } from '../../../../shared/events/service-event.ts';

const key = { provider: 'foo', mode: 'kcp', cluster: '2abc', namespace: 'default', name: 'a', uid: 'u1' } as const;

test('a notice becomes an event that names the object and carries nothing of it', () => {
  const event = toCloudEvent(toEvent({ key, reason: 'Changed', priority: 'user', generation: 4 }));
  expect(event).toMatchObject({
    type: 'io.open-control-plane.serviceprovider.object.changed.v1',
    source: '/serviceproviders/foo/kcp/2abc',
    subject: 'default/a',
    objectuid: 'u1',
    reason: 'Changed',
    generation: 4,
  });
  expect(event.data).toBeUndefined();
});

test('people see the short form of a type', () => {
  expect(shortType('io.open-control-plane.serviceprovider.object.changed.v1')).toBe('object.changed');
});
