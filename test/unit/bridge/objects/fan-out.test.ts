import { describe, expect, test } from 'vitest';
import { ControlPlaneIndex } from '../../../../bridge/objects/control-plane-index.ts';
import type { KnownObjects } from '../../../../bridge/objects/followed.ts';
import { othersInWorkspace, type SeenObject } from '../../../../bridge/objects/seen-objects.ts';
import { objectOfRequest } from '../../../../bridge/requests/object-of-request.ts';
import { SecretIndex } from '../../../../bridge/requests/secret-index.ts';
import { Seen } from '../../../../bridge/watch/seen.ts';
import type { SeenRequest } from '../../../../bridge/requests/seen-requests.ts';
import { mcpNamespace } from '../../../../shared/names.ts';

const object = (group: string, id: string, uid = id): SeenObject => ({
  group,
  id,
  uid,
  generation: 1,
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
  ofControlPlane: () => undefined,
  ...fields,
});

describe('the object that a request concerns', () => {
  test('is named by its annotation, and told even if it is not known', () => {
    expect(objectOfRequest(request(OWNER), 'watch', known())).toMatchObject({ cluster: '2abc', uid: 'u1' });
  });

  test('is not told while its mode does not run', () => {
    expect(objectOfRequest(request(OWNER), 'watch', known({ runs: (mode) => mode === 'standard' }))).toEqual({
      because: 'ModeNotRunning',
    });
  });

  test('is told after a start only if it was looked at before the request was listed', () => {
    expect(objectOfRequest(request(OWNER), 'first-list', known())).toEqual({ because: 'NoSuchObject' });
    expect(objectOfRequest(request(OWNER), 'first-list', known({ knows: () => true }))).toMatchObject({ uid: 'u1' });
  });

  test("is found by the control plane's ClusterRequest", () => {
    expect(objectOfRequest(request(undefined), 'watch', known())).toEqual({ because: 'NoSuchObject' });
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

test('the others of a workspace are those beside the one that is gone, and none of another workspace', () => {
  const seen = new Seen<SeenObject>();
  for (const [group, id] of [
    ['w1', 'n/a'],
    ['w1', 'n/b'],
    ['w2', 'n/c'],
  ] as const)
    seen.apply('ADDED', object(group, id));
  expect(othersInWorkspace(object('w1', 'n/a'), seen).map(({ id }) => id)).toEqual(['n/b']);
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
