import { describe, expect, test } from 'vitest';
import { requestRelevance } from '../../../../bridge/requests/request-relevance.ts';
import { ownerOf, type Request, type SeenRequest, seenRequest } from '../../../../bridge/requests/seen-requests.ts';
import { OBJECT_ANNOTATION } from '../../../../shared/names.ts';

const OWNER = 'foo|standard|onboarding|default|a|u1';

function accessRequest(fields: { owner?: string; metadata?: object; status?: object } = {}): Request {
  return {
    metadata: {
      name: 'foo--a--mcp',
      namespace: 'mcp--1',
      uid: 'r1',
      generation: 2,
      annotations: fields.owner === undefined ? {} : { [OBJECT_ANNOTATION]: fields.owner },
      ...fields.metadata,
    },
    spec: { requestRef: { name: 'a', namespace: 'mcp--1' } },
    ...(fields.status ? { status: fields.status } : {}),
  };
}

const granted = (observedGeneration: number) =>
  seenRequest('foo', accessRequest({ owner: OWNER, status: { phase: 'Granted', observedGeneration } }))?.granted;

describe('what is kept of a request', () => {
  test('its object, by the annotation', () => {
    const seen = seenRequest('foo', accessRequest({ owner: OWNER }));
    expect(seen && ownerOf(seen)).toMatchObject({ provider: 'foo', name: 'a', uid: 'u1' });
  });

  test('nothing when it is of another provider, or its annotation is no key', () => {
    expect(seenRequest('bar', accessRequest({ owner: OWNER }))).toBeUndefined();
    expect(seenRequest('foo', accessRequest({ owner: 'rubbish' }))).toBeUndefined();
  });

  test("a control plane's own ClusterRequest, which has no annotation, but no AccessRequest without one", () => {
    const metadata = { name: 'a', namespace: 'mcp--1', uid: 'r2' };
    expect(seenRequest('foo', { metadata, spec: { purpose: 'mcp' } })).toMatchObject({ id: 'a', owner: undefined });
    expect(
      seenRequest('foo', { metadata: { ...metadata, namespace: 'elsewhere' }, spec: { purpose: 'mcp' } }),
    ).toBeUndefined();
    expect(seenRequest('foo', accessRequest())).toBeUndefined();
  });

  test('that it is granted, once that is so for its present spec', () => {
    expect(granted(2)).toBe(true);
    expect(granted(1)).toBe(false);
  });

  test('its finalizers only while it is being deleted', () => {
    const finalizers = ['a', 'b'];
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    expect(seenRequest('foo', accessRequest({ owner: OWNER, metadata: { finalizers } }))?.finalizers).toBe('');
    expect(
      seenRequest('foo', accessRequest({ owner: OWNER, metadata: { finalizers, deletionTimestamp } }))?.finalizers,
    ).toBe('a,b');
  });
});

const request = (fields: Partial<SeenRequest> = {}): SeenRequest => ({
  group: 'mcp--1',
  id: 'foo--a--mcp',
  uid: 'r1',
  owner: OWNER,
  phase: 'Pending',
  granted: false,
  secret: undefined,
  deleting: false,
  finalizers: '',
  ...fields,
});
const GRANTED = { phase: 'Granted', granted: true };
const user = { act: true, reason: 'AccessChanged', priority: 'user' };

describe('a request of ours', () => {
  test('that we just made is skipped', () => {
    expect(requestRelevance({ kind: 'added', now: request() }, 'watch')).toEqual({
      act: false,
      because: 'RequestCreated',
    });
  });

  test('that was answered while nobody watched wakes its object', () => {
    expect(requestRelevance({ kind: 'added', now: request(GRANTED) }, 'relist')).toEqual(user);
    expect(requestRelevance({ kind: 'added', now: request({ phase: 'Denied' }) }, 'relist')).toEqual(user);
  });

  test('that was answered before the start is background work', () => {
    expect(requestRelevance({ kind: 'added', now: request(GRANTED) }, 'first-list')).toEqual({
      ...user,
      priority: 'background',
    });
  });

  test.each([
    ['granted', {}, GRANTED],
    ['denied', {}, { phase: 'Denied' }],
    ['granted for its present spec', { phase: 'Granted' }, GRANTED],
    ['given another Secret', GRANTED, { ...GRANTED, secret: 's' }],
    ['being deleted', GRANTED, { ...GRANTED, deleting: true, finalizers: 'a' }],
    ['losing a finalizer', { deleting: true, finalizers: 'a,b' }, { deleting: true, finalizers: 'a' }],
    ['replaced', GRANTED, { ...GRANTED, uid: 'r2' }],
  ])('that is %s wakes its object', (_, before, now) => {
    expect(requestRelevance({ kind: 'changed', before: request(before), now: request(now) }, 'watch')).toEqual(user);
  });

  test('that changed in nothing its object waits for is skipped', () => {
    expect(requestRelevance({ kind: 'changed', before: request(), now: request() }, 'watch')).toEqual({
      act: false,
      because: 'RequestUnchanged',
    });
  });

  test('that is gone wakes its object', () => {
    expect(requestRelevance({ kind: 'gone', before: request() }, 'watch')).toEqual(user);
  });
});

test("a control plane's ClusterRequest wakes the object that waits for it to exist", () => {
  expect(requestRelevance({ kind: 'added', now: request({ owner: undefined }) }, 'watch')).toEqual(user);
});
