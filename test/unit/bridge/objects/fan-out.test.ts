import { describe, expect, test } from 'vitest';
import { ControlPlaneIndex } from '../../../../bridge/objects/control-plane-index.ts';
import type { KnownObjects } from '../../../../bridge/objects/followed.ts';
import { nextInWorkspace, type SeenObject } from '../../../../bridge/objects/seen-objects.ts';
import { objectsOfRequest } from '../../../../bridge/requests/object-of-request.ts';
import { SecretIndex } from '../../../../bridge/requests/secret-index.ts';
import { Seen } from '../../../../bridge/watch/seen.ts';
import type { SeenRequest } from '../../../../bridge/requests/seen-requests.ts';
import type { ObjectKey } from '../../../../shared/model/object-key.ts';
import { mcpNamespace } from '../../../../shared/names.ts';

const object = (group: string, id: string, uid = id): SeenObject => ({
  group,
  id,
  uid,
  generation: 1,
  createdAt: '2026-01-01T00:00:00Z',
  resourceVersion: '1',
  deleting: false,
  hasFinalizer: false,
  operation: undefined,
});
const request = (owner: string | undefined): SeenRequest => ({
  group: 'mcp--1',
  id: 'a',
  uid: 'r1',
  owner,
  phase: '',
  granted: false,
  secret: undefined,
  deleting: false,
  finalizers: '',
});
const OWNER = 'foo|kcp|2abc|default|a|u1';
const known = (fields: Partial<KnownObjects> = {}): KnownObjects => ({
  runs: () => true,
  listed: () => true,
  knows: () => false,
  now: () => undefined,
  ofControlPlane: () => undefined,
  ...fields,
});

describe('the object that a request concerns', () => {
  test('is named by its annotation, and told even if it is not known', () => {
    expect(objectsOfRequest(request(OWNER), 'watch', known())).toMatchObject([{ cluster: '2abc', uid: 'u1' }]);
  });

  test('is not told while its mode does not run', () => {
    expect(objectsOfRequest(request(OWNER), 'watch', known({ runs: (mode) => mode === 'standard' }))).toEqual({
      because: 'ModeNotRunning',
    });
  });

  test('is told after a start only if it was looked at before the request was listed', () => {
    expect(objectsOfRequest(request(OWNER), 'first-list', known())).toEqual({ because: 'NoSuchObject' });
    expect(objectsOfRequest(request(OWNER), 'first-list', known({ knows: () => true }))).toMatchObject([{ uid: 'u1' }]);
  });

  test('is also the one that has its name by now, which may wait for the request to go', () => {
    const now = (key: ObjectKey) => ({ ...key, uid: 'u2' });
    expect(objectsOfRequest(request(OWNER), 'watch', known({ now }))).toMatchObject([{ uid: 'u1' }, { uid: 'u2' }]);
    expect(objectsOfRequest(request(OWNER), 'watch', known({ now: (key) => key }))).toMatchObject([{ uid: 'u1' }]);
  });

  test("is found by the control plane's ClusterRequest", () => {
    expect(objectsOfRequest(request(undefined), 'watch', known())).toEqual({ because: 'NoSuchObject' });
  });
});

test("a control plane's ClusterRequest finds the object of its name and namespace, whichever lives there now", () => {
  const index = new ControlPlaneIndex();
  const seen = new Seen<SeenObject>();
  const wanted = { namespace: mcpNamespace('a', 'project'), name: 'a' };
  const apply = (type: 'ADDED' | 'DELETED', one: SeenObject) => {
    const change = seen.apply(type, one);
    if (change) index.apply(change);
  };
  apply('ADDED', object('onboarding', 'project/a', 'old'));
  apply('ADDED', object('onboarding', 'project/a', 'new'));
  expect(index.find('foo', wanted, seen)).toMatchObject({ namespace: 'project', name: 'a', uid: 'new' });
  expect(index.find('foo', { ...wanted, name: 'b' }, seen)).toBeUndefined();
  apply('DELETED', object('onboarding', 'project/a', 'new'));
  expect(index.find('foo', wanted, seen)).toBeUndefined();
});

test('when an object of a workspace is gone, the oldest of the others there may be the next, and no more than one', () => {
  const seen = new Seen<SeenObject>();
  const at = (second: number, more: Partial<SeenObject> = {}) => ({
    createdAt: `2026-01-01T00:00:0${second}Z`,
    ...more,
  });
  const gone = object('w1', 'n/a');
  expect(nextInWorkspace(gone, seen)).toBeUndefined();
  seen.apply('ADDED', { ...object('w2', 'n/z'), ...at(0) });
  expect(nextInWorkspace(gone, seen)).toBeUndefined();
  seen.apply('ADDED', { ...object('w1', 'n/leaving'), ...at(0, { deleting: true }) });
  seen.apply('ADDED', { ...object('w1', 'n/c'), ...at(2) });
  seen.apply('ADDED', { ...object('w1', 'm/d', 'uid-1'), ...at(1) });
  seen.apply('ADDED', { ...object('w1', 'n/b', 'uid-0'), ...at(1) });
  expect(nextInWorkspace(gone, seen)?.id).toBe('n/b');
  expect(nextInWorkspace(object('w1', 'n/b'), seen)?.id).toBe('m/d');
});

test('the Secret of an AccessRequest finds its object, as long as the request names it', () => {
  const index = new SecretIndex();
  const withSecret = (secret: string | undefined, owner: string | undefined = OWNER) => ({ ...request(owner), secret });
  index.apply({ kind: 'added', now: withSecret(undefined) });
  expect(index.find('mcp--1', 's')).toBeUndefined();
  index.apply({ kind: 'changed', before: withSecret(undefined), now: withSecret('s') });
  expect(index.find('mcp--1', 's')).toMatchObject({ cluster: '2abc', uid: 'u1' });
  expect(index.find('mcp--2', 's')).toBeUndefined();
  index.apply({ kind: 'changed', before: withSecret('s'), now: withSecret('t') });
  expect(index.find('mcp--1', 's')).toBeUndefined();
  expect(index.find('mcp--1', 't')).toMatchObject({ uid: 'u1' });
  index.apply({ kind: 'gone', before: withSecret('t') });
  expect(index.find('mcp--1', 't')).toBeUndefined();
  index.apply({ kind: 'added', now: { ...request(undefined), secret: 's' } });
  expect(index.find('mcp--1', 's')).toBeUndefined();
});
