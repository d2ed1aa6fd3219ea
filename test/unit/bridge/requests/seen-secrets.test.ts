import { describe, expect, test } from 'vitest';
import { secretRelevance, seenSecret, type SeenSecret } from '../../../../bridge/requests/seen-secrets.ts';
import type { Change } from '../../../../bridge/watch/seen.ts';
import { formatObjectKey } from '../../../../shared/model/object-key.ts';
import { CONTENTS_ANNOTATION, OBJECT_ANNOTATION } from '../../../../shared/names.ts';
import { kcpKey } from '../../functions/objects.ts';

const OWNER = formatObjectKey(kcpKey);
const secret = (resourceVersion: string, annotations: Record<string, string> = {}, uid = 'u'): SeenSecret =>
  seenSecret('db', { metadata: { name: 's', namespace: 'n', uid, resourceVersion, annotations } }) as SeenSecret;
const ours = (resourceVersion: string, contents: string, uid?: string): SeenSecret =>
  secret(resourceVersion, { [OBJECT_ANNOTATION]: OWNER, [CONTENTS_ANNOTATION]: contents }, uid);
const changed = (before: SeenSecret, now: SeenSecret): Change<SeenSecret> => ({ kind: 'changed', before, now });

describe('a Secret on the platform cluster', () => {
  test('of others is kept as small as can be', () => {
    expect(secret('1', { some: 'annotation' })).toEqual({ group: 'n', id: 's', uid: 'u', resourceVersion: '1' });
    const another = secret('1', { [OBJECT_ANNOTATION]: formatObjectKey({ ...kcpKey, provider: 'other' }) });
    expect(another).not.toHaveProperty('owner');
  });

  test.each<[string, Change<SeenSecret>]>([
    ['deleted', { kind: 'gone', before: ours('1', 'a') }],
    ['edited', changed(ours('1', 'a'), ours('2', 'a'))],
    ['taken from its object', changed(ours('1', 'a'), secret('2'))],
    ['given to another object', changed(ours('1', 'a'), secret('2', { [CONTENTS_ANNOTATION]: 'b' }))],
    ['replaced by one of that name', changed(ours('1', 'a'), ours('2', 'a', 'v'))],
  ])('with the kubeconfig of a workspace that somebody else has %s concerns its object', (_what, change) => {
    expect(secretRelevance(change)).toMatchObject({ act: true });
    expect(change.kind === 'added' ? undefined : change.before.owner).toBe(OWNER);
  });

  test.each<[string, Change<SeenSecret>]>([
    ['made', { kind: 'added', now: ours('1', 'a') }],
    ['given another token by us', changed(ours('1', 'a'), ours('2', 'b'))],
    ['seen again', changed(ours('1', 'a'), ours('1', 'a'))],
  ])('that is %s concerns nobody', (_what, change) => {
    expect(secretRelevance(change)).toMatchObject({ act: false });
  });

  test('that an AccessRequest points to concerns its object with each change', () => {
    expect(secretRelevance(changed(secret('1'), secret('2')))).toMatchObject({ act: true });
  });

  test('that is a copy concerns its object when it is deleted: what we write into it does not', () => {
    const copy = (version: string) => secret(version, { [OBJECT_ANNOTATION]: OWNER });
    expect(secretRelevance({ kind: 'gone', before: copy('1') })).toMatchObject({ act: true });
    expect(secretRelevance(changed(copy('1'), copy('2')))).toMatchObject({ act: false });
  });
});
