import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { DELETE_REQUESTED, INSTALL_REQUESTED, OBJECT_CHANGED } from '../../shared/events/catalogue.ts';
import { done } from '../../shared/events/outcome.ts';
import { formatObjectKey } from '../../shared/model/object-key.ts';
import { eventually } from '../support/wait.ts';
import { callFor, callsFor, eventOf, jsonOf, looksAgain, newKey, type Rig } from './rig.ts';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** What becomes of events, whole and odd ones. */
export function eventsOf(rig: () => Rig): void {
  describe('an event', () => {
    test('reaches the function with all that it says', async () => {
      const key = newKey({ mode: 'kcp', namespace: 'default' });
      const event = eventOf(key, { generation: 42, traceparent: TRACEPARENT, reason: 'Changed' });
      await rig().deliver(jsonOf(event));
      const call = await callFor(rig(), key);
      call.end(done());
      expect(call.event).toEqual(event);
    });

    test('of an object with the longest names reaches it', async () => {
      const key = newKey({ namespace: 'n'.repeat(63), name: `${'a'.repeat(250)}.b` });
      await rig().deliver(jsonOf(eventOf(key)));
      const call = await callFor(rig(), key);
      call.end(done());
      expect(call.event.key).toEqual(key);
    });

    test('delivered twice is worked on once at a time, and the second is not lost', async () => {
      const key = newKey();
      const json = jsonOf(eventOf(key));
      await rig().deliver(json);
      const first = await callFor(rig(), key);
      await rig().deliver(json);
      await sleep(300);
      expect(callsFor(rig(), formatObjectKey(key))).toHaveLength(1);
      first.end(done());
      await looksAgain(rig(), key);
    });

    test('that comes while its object is worked on for long is not lost', async () => {
      const key = newKey();
      await rig().deliver(jsonOf(eventOf(key)));
      const first = await callFor(rig(), key);
      await rig().deliver(jsonOf(eventOf(key, { generation: 2 })));
      await sleep(2_000);
      expect(await first.maySend()).toBe(true);
      first.end(done());
      await looksAgain(rig(), key);
    });

    test.each<[string, Record<string, unknown>]>([
      ['an unknown minor attribute', { somethingelse: 'x' }],
      ['data', { data: { spec: 'nobody reads it' }, datacontenttype: 'application/json' }],
      ['a time', { time: '2026-01-01T00:00:00Z' }],
    ])('with %s is taken', async (_name, attributes) => {
      const key = newKey();
      await rig().deliver(jsonOf(eventOf(key), attributes));
      const call = await callFor(rig(), key);
      call.end(done());
      expect(call.event).not.toHaveProperty(Object.keys(attributes)[0] as string);
    });

    test('of a version that only a newer process knows is handed back, and not worked on', async () => {
      const key = newKey();
      const type = INSTALL_REQUESTED.replace('.v1', '.v2');
      await rig().deliver(jsonOf(eventOf(key), { type }));
      await eventually('it is looked at again', async () => ((await rig().effect(key)).timer ?? 0) > 5_000);
      expect(callsFor(rig(), formatObjectKey(key))).toEqual([]);
    });

    test('for another function starts over', async () => {
      const key = newKey();
      await rig().deliver(jsonOf(eventOf(key, { type: DELETE_REQUESTED })));
      await eventually('sent back', async () => (await rig().effect(key)).next.includes(OBJECT_CHANGED));
      expect(callsFor(rig(), formatObjectKey(key))).toEqual([]);
    });

    const sound = jsonOf(eventOf(newKey()));
    test.each<[string, unknown]>([
      ['nothing', null],
      ['a number', 7],
      ['a list', [sound]],
      ['an empty object', {}],
      ['no source', { ...sound, source: undefined }],
      ['a source of somebody else', { ...sound, source: '/somebody/else' }],
      ['no subject', { ...sound, subject: undefined }],
      ['a subject that leaves its path', { ...sound, subject: '../secrets' }],
      ['no uid', { ...sound, objectuid: undefined }],
      ['an older specversion', { ...sound, specversion: '0.3' }],
      ['a specversion that does not exist', { ...sound, specversion: '2.0' }],
      ['a type of somebody else', { ...sound, type: 'com.example.other' }],
      ['another provider', { ...sound, source: '/serviceproviders/bar/standard/onboarding' }],
      ['a cluster that standard mode does not have', { ...sound, source: '/serviceproviders/foo/standard/2hj3kx' }],
      ['a workspace by its path', { ...sound, source: '/serviceproviders/foo/kcp/root:org:team' }],
      ['all workspaces', { ...sound, source: '/serviceproviders/foo/kcp/*' }],
      ['a name in other characters', { ...sound, subject: 'project-a/%2e%2e' }],
      ['a name that is too long', { ...sound, subject: `project-a/${'a'.repeat(254)}` }],
      ['more bytes than an event has', { ...sound, comment: 'x'.repeat(100_000) }],
    ])('%s is refused, said, and holds up nothing', async (_name, data) => {
      const before = rig().calls.length;
      await rig().deliver(data);
      const key = newKey();
      await rig().deliver(jsonOf(eventOf(key)));
      (await callFor(rig(), key)).end(done());
      await rig().idle();
      expect(rig().calls.length).toBe(before + 1);
      expect(rig().logged()).toMatch(/refused|not taken/);
    });
  });
}
