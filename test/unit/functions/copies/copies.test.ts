import { describe, expect, test } from 'vitest';
import { decideCopy, isOurCopy, outdatedCopies } from '../../../../functions/copies/decide-copy.ts';
import { type ReferencedSecret } from '../../../../shared/provider/references.ts';
import { type DesiredCopy, desiredCopies } from '../../../../functions/copies/decide-copies.ts';
import { deletionBlocked } from '../../../../shared/provider/decide-blocked.ts';
import { namesOf, referenceRelevance, seenReference } from '../../../../bridge/config/seen-references.ts';
import type { Secret } from '../../../../shared/model/access.ts';
import { OBJECT_ANNOTATION } from '../../../../shared/names.ts';

const OWNER = { controllerName: 'Foo', annotation: 'foo|standard|onboarding|p|a|u1' };
const COPY: DesiredCopy = { source: 'registry', cluster: 'mcp', namespace: 'sys', name: 'registry' };
const MARKS = {
  labels: { 'openmcp.cloud/managed-by': 'Foo' },
  annotations: { [OBJECT_ANNOTATION]: OWNER.annotation },
};
const source: Secret = { metadata: { name: 'registry' }, type: 'kubernetes.io/dockerconfigjson', data: { a: 'MQ==' } };
const target = (fields: Partial<Secret> = {}, metadata: object = MARKS): Secret => ({
  ...source,
  ...fields,
  metadata: { name: 'registry', namespace: 'sys', uid: 's1', resourceVersion: '3', ...metadata },
});
const decide = (at: Secret | undefined) => decideCopy(COPY, source, at, OWNER);

describe('a copy', () => {
  test('is made with our marks, and then left alone', () => {
    expect(decide(undefined)).toEqual({
      do: 'create',
      object: { metadata: { name: 'registry', namespace: 'sys', ...MARKS }, type: source.type, data: source.data },
    });
    expect(decide(target())).toEqual({ do: 'nothing' });
  });

  test('follows the data, also where keys were taken away', () => {
    expect(decide(target({ data: { a: 'Mg==', b: 'MQ==' } }))).toMatchObject({
      do: 'patch',
      patch: { metadata: { resourceVersion: '3' }, data: { a: 'MQ==', b: null } },
    });
  });

  test('is replaced where it can not be changed', () => {
    expect(decide(target({ type: 'Opaque' }))).toMatchObject({ do: 'replace', uid: 's1' });
    expect(decide(target({ immutable: true, data: {} }))).toMatchObject({ do: 'replace' });
    expect(decide(target({ immutable: true }))).toEqual({ do: 'nothing' });
  });

  test('is taken over from an earlier object of the name, and from a runtime that leaves no marks', () => {
    const earlier = { ...MARKS, annotations: { [OBJECT_ANNOTATION]: OWNER.annotation.replace('u1', 'u0') } };
    expect(decide(target({}, earlier))).toMatchObject({ do: 'patch', patch: { metadata: MARKS } });
    expect(decide(target({}, {}))).toMatchObject({ do: 'patch', patch: { metadata: MARKS } });
  });

  test('never takes the place of something else', () => {
    expect(decide(target({ data: { mine: 'MQ==' } }, {}))).toEqual({ do: 'refuse' });
    expect(decide(target({}, { labels: { 'openmcp.cloud/managed-by': 'Bar' } }))).toEqual({ do: 'refuse' });
    const another = { ...MARKS, annotations: { [OBJECT_ANNOTATION]: OWNER.annotation.replace('|a|', '|b|') } };
    expect(decide(target({}, another))).toEqual({ do: 'refuse' });
    expect(isOurCopy(target({}, another), OWNER)).toBe(false);
  });

  test('is outdated once its place is not wanted any more', () => {
    const moved = { ...COPY, namespace: 'elsewhere' };
    expect(outdatedCopies([COPY, moved], [{ ...moved, source: 'other' }])).toEqual([COPY]);
  });
});

describe('what a provider refers to', () => {
  const to = { identity: 'p/a', tenantNamespace: 'mcp--1', mode: 'standard' } as const;
  const object = { apiVersion: '', kind: '', metadata: { name: 'a' }, spec: {}, status: {} };
  const copies = (...references: (string | ReferencedSecret<unknown>)[]) =>
    desiredCopies('foo', references, object, to);

  test('is names, and copies where asked', () => {
    const references: (string | ReferencedSecret<unknown>)[] = [
      'plain',
      { name: 'watched' },
      { name: 'copied', copyTo: (_, { identity }) => [{ cluster: 'tenant' }, { cluster: 'mcp', namespace: identity }] },
    ];
    expect(namesOf(references)).toEqual(['plain', 'watched', 'copied']);
    expect(copies(...references)).toEqual([
      { source: 'copied', cluster: 'tenant', namespace: 'mcp--1', name: 'sp-foo-copied' },
      { source: 'copied', cluster: 'mcp', namespace: 'p/a', name: 'copied' },
    ]);
  });

  test('can not be two Secrets in one place', () => {
    const copyTo = [{ cluster: 'mcp', namespace: 'n', name: 'same' }] as const;
    expect(() => copies({ name: 'one', copyTo }, { name: 'two', copyTo })).toThrow(
      'referencedSecrets: one and two are both copied to n/same on the mcp cluster; give one another name',
    );
  });

  const seen = (data: Record<string, string>, metadata: object = {}) => {
    const found = seenReference({ metadata: { name: 'registry', namespace: 'sp', uid: '1', ...metadata }, data });
    if (!found) throw new Error('not seen');
    return found;
  };
  const referenced = new Set(['registry']);

  test('concerns all objects when its contents change, appear or go', () => {
    const act = { act: true, reason: 'ReferenceChanged', priority: 'background' };
    expect(
      referenceRelevance({ kind: 'changed', before: seen({ a: '1' }), now: seen({ a: '2' }) }, 'watch', referenced),
    ).toEqual(act);
    expect(referenceRelevance({ kind: 'added', now: seen({}) }, 'watch', referenced)).toEqual(act);
    expect(referenceRelevance({ kind: 'gone', before: seen({}) }, 'relist', referenced)).toEqual(act);
    expect(referenceRelevance({ kind: 'added', now: seen({}) }, 'watch', undefined)).toEqual(act);
  });

  test('concerns nobody otherwise', () => {
    const labelled = seen({ b: '2', a: '1' }, { labels: { x: 'y' } });
    const changed = { kind: 'changed', before: seen({ a: '1', b: '2' }), now: labelled } as const;
    expect(referenceRelevance(changed, 'watch', referenced)).toMatchObject({ act: false, because: 'Unchanged' });
    expect(referenceRelevance({ kind: 'added', now: seen({}) }, 'first-list', referenced)).toMatchObject({
      act: false,
    });
    expect(referenceRelevance({ kind: 'added', now: seen({}) }, 'watch', new Set(['other']))).toMatchObject({
      act: false,
      because: 'NotReferenced',
    });
    expect(JSON.stringify(seen({ token: 'geheim' }))).not.toContain('geheim');
  });
});

describe("a deletion that waits for the tenant's objects", () => {
  test('names kinds and counts, and leaves out what there is none of', () => {
    expect(
      deletionBlocked([
        { kind: 'Bucket', group: 'b.example', count: 0 },
        { kind: 'ConfigMap', group: '', count: 1 },
        { kind: 'Repo', group: 'r.example', count: 12 },
      ]),
    ).toMatchObject({
      status: 'True',
      reason: 'ResourcesExist',
      message: expect.stringMatching(/: 1 ConfigMap, 12 Repo\.r\.example$/) as string,
    });
  });

  test('goes on when nothing is left', () => {
    expect(deletionBlocked([{ kind: 'Bucket', group: 'b', count: 0 }])).toMatchObject({ status: 'False' });
  });
});
