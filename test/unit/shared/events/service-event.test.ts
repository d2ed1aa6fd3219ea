import { describe, expect, test } from 'vitest';
import {
  DELETE_REQUESTED,
  type EventType,
  INSTALL_REQUESTED,
  OBJECT_CHANGED,
  TEARDOWN_REQUESTED,
} from '../../../../shared/events/catalogue.ts';
import {
  parseServiceEvent,
  partitionKey,
  serviceEvent,
  toCloudEvent,
} from '../../../../shared/events/service-event.ts';
import { kcpKey, standardKey } from '../../functions/objects.ts';

/** As it travels. */
const wire = (event: ReturnType<typeof serviceEvent>): Record<string, unknown> =>
  JSON.parse(JSON.stringify(toCloudEvent(event).toJSON())) as Record<string, unknown>;
const sample = (): Record<string, unknown> => wire(serviceEvent(OBJECT_CHANGED, standardKey, { reason: 'Changed' }));

describe('an event', () => {
  test.each<EventType>([OBJECT_CHANGED, INSTALL_REQUESTED, DELETE_REQUESTED, TEARDOWN_REQUESTED])(
    '%s arrives as it was sent',
    (type) => {
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
      for (const key of [standardKey, kcpKey]) {
        const event = serviceEvent(type, key, { reason: 'NextStep', generation: 3, traceparent });
        expect(parseServiceEvent(wire(event))).toEqual(event);
      }
    },
  );

  test('without a generation or trace arrives without', () => {
    const event = serviceEvent(OBJECT_CHANGED, standardKey, { reason: 'Timer' });
    expect(parseServiceEvent(wire(event))).toEqual({
      id: event.id,
      type: OBJECT_CHANGED,
      key: standardKey,
      reason: 'Timer',
    });
  });

  test('says which object, and holds nothing of it', () => {
    expect(Object.keys(sample()).sort()).toEqual([
      'cluster',
      'id',
      'mode',
      'objectuid',
      'partitionkey',
      'reason',
      'source',
      'specversion',
      'subject',
      'time',
      'type',
    ]);
    expect(sample()).toMatchObject({
      specversion: '1.0',
      source: '/serviceproviders/db/standard/onboarding',
      subject: 'project-a/shop',
      objectuid: 'uid-1',
      mode: 'standard',
      cluster: 'onboarding',
      partitionkey: partitionKey(standardKey),
    });
  });

  test('has an id of its own, and the partition of its object', () => {
    const events = [1, 2].map(() => serviceEvent(OBJECT_CHANGED, standardKey, { reason: 'Changed' }));
    expect(events[0]?.id).not.toBe(events[1]?.id);
    expect(partitionKey(standardKey)).toMatch(/^[0-9a-f]{16}$/);
    expect(partitionKey({ ...standardKey, uid: 'uid-2' })).not.toBe(partitionKey(standardKey));
  });
});

describe('an event that was not made by us', () => {
  test('what nothing depends on may be missing or odd', () => {
    const { reason: _, time: __, mode: ___, cluster: ____, partitionkey: _____, ...rest } = sample();
    expect(parseServiceEvent({ ...rest, generation: 'x' })).toEqual({
      id: rest['id'],
      type: OBJECT_CHANGED,
      key: standardKey,
      reason: 'Unknown',
    });
  });

  test('of a version that we do not know is told by its type, with the object that it is about', () => {
    const type = 'io.open-control-plane.serviceprovider.object.changed.v2';
    expect(parseServiceEvent({ ...sample(), type })).toEqual({ unknownVersion: type, key: standardKey });
  });

  test.each<[string, Record<string, unknown>]>([
    ['specversion', { specversion: '2.0' }],
    ['type', { type: 'com.example.other.v1' }],
    ['type', { type: '' }],
    ['source', { source: '/serviceproviders/db/other/onboarding' }],
    ['source', { source: '/serviceproviders/db/standard' }],
    ['source', { source: '/serviceproviders/db/standard/onboarding/more' }],
    ['source', { source: '/serviceproviders//standard/onboarding' }],
    ['subject', { subject: 'shop' }],
    ['subject', { subject: '/shop' }],
    ['subject', { subject: 'project-a/shop/more' }],
    ['subject', { subject: undefined }],
    ['objectuid', { objectuid: '' }],
    ['objectuid', { objectuid: 7 }],
    ['objectuid', { objectuid: 'a|b' }],
  ])('is refused by the name of its %s: %j', (attribute, fields) => {
    expect(() => parseServiceEvent({ ...sample(), ...fields })).toThrow(
      expect.objectContaining({
        code: 'INVALID_EVENT',
        message: expect.stringMatching(new RegExp(`\\b${attribute}\\b`)) as string,
      }) as Error,
    );
  });

  test.each<[Record<string, unknown>, RegExp]>([
    [{ source: '/serviceproviders/db/standard/2hj3kx' }, /^source: .*in standard mode objects are on the cluster onbo/],
    [{ source: '/serviceproviders/db/standard/' }, /^source: .*in standard mode/],
    [{ source: '/serviceproviders/db/kcp/' }, /^source: .*expected a logical cluster's name/],
    [{ objectuid: '../x' }, /^objectuid: uid: expected the object's metadata\.uid/],
    [{ objectuid: 'a'.repeat(129) }, /^objectuid: /],
  ])('names what its mode can not have: %j', (fields, problem) => {
    expect(() => parseServiceEvent({ ...sample(), ...fields })).toThrow(problem);
  });

  test('what nothing depends on is not taken on in any length', () => {
    const trace = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const long = 'x'.repeat(10_000);
    expect(parseServiceEvent({ ...sample(), reason: long, traceparent: long })).toMatchObject({
      reason: 'x'.repeat(64),
    });
    expect(parseServiceEvent({ ...sample(), traceparent: long })).not.toHaveProperty('traceparent');
    expect(parseServiceEvent({ ...sample(), traceparent: trace })).toMatchObject({ traceparent: trace });
  });

  test('is refused without the uid of its object', () => {
    const { objectuid: _, ...rest } = sample();
    expect(() => parseServiceEvent(rest)).toThrow(/^objectuid: /);
  });

  test.each<Record<string, unknown>>([
    { source: '/serviceproviders/db/kcp/..' },
    { source: '/serviceproviders/db/kcp/2hj3kx?x' },
    { source: '/serviceproviders/db/kcp/%2e%2e' },
    { subject: '../shop' },
    { subject: 'project-a/..' },
    { subject: 'project-a/Shop' },
    { subject: 'a|b/shop' },
    { subject: 'a.b/shop' },
    { subject: 'project-a/shop:x' },
    { subject: 'project-a/shop..x' },
    { subject: 'project-a/%2e%2e' },
    { subject: 'project-a%2Fshop/x' },
    { subject: 'project-a\\/shop' },
    { subject: 'project-a/' },
    { subject: `${'a'.repeat(64)}/shop` },
    { subject: `project-a/${'a'.repeat(254)}` },
    { subject: `project-a/${'a.'.repeat(20_000)}a` },
    { subject: 'project-a/shop\n' },
    { source: '/serviceproviders/db/kcp/root:org:team' },
    { source: '/serviceproviders/db/kcp/*' },
    { source: '/serviceproviders/db/kcp/' },
    { source: '/serviceproviders/db/kcp/a/../b' },
    { source: `/serviceproviders/db/kcp/${'a'.repeat(64)}` },
    { source: '/serviceproviders/db.x/standard/onboarding' },
  ])('a name that leads elsewhere: parts of an address are names, not %j', (fields) => {
    expect(() => parseServiceEvent({ ...sample(), ...fields })).toThrow(/^(source|subject): expected/);
  });

  test.each([[undefined], [null], ['text'], [7], [[]], [{}], [{ id: 'x' }]])('%j is no event at all', (json) => {
    expect(() => parseServiceEvent(json)).toThrow(expect.objectContaining({ code: 'INVALID_EVENT' }) as Error);
  });
});
