import { describe, expect, test } from 'vitest';
import { decideStrays } from '../../../../functions/requests/decide-strays.ts';
import type { KubeObject } from '../../../../shared/model/kubernetes.ts';
import { OBJECT_ANNOTATION, WANTED_UNDER_ANNOTATION } from '../../../../shared/names.ts';
import { ANNOTATION, KEY, metadata, OWNER, wanted } from './registration.ts';

describe('what a registration left behind', () => {
  const named = (name: string, fields: object = {}) => ({ metadata: metadata({ name, ...fields }) });
  const strays = (...accessRequests: KubeObject[]) =>
    decideStrays(KEY, [wanted()], { accessRequests, clusterRequests: [] }).map(({ identity }) => identity.name);

  test('is what was made for the object and is not registered', () => {
    expect(strays(named('foo--a--x'), named('foo--a--y'))).toEqual(['foo--a--y']);
  });

  test('is recognised by its labels where another runtime made it', () => {
    expect(strays(named('foo--a--y', { annotations: {} }))).toEqual(['foo--a--y']);
    expect(strays(named('foo--a--y', { annotations: {}, labels: { ...OWNER } }))).toEqual([]);
  });

  test("is nobody else's", () => {
    expect(
      strays(named('foo--b--y', { annotations: { [OBJECT_ANNOTATION]: ANNOTATION.replace('|a|', '|b|') } })),
    ).toEqual([]);
    expect(strays(named('hand-made', { finalizers: [] }))).toEqual([]);
    expect(strays(named('hand-made', { labels: { 'openmcp.cloud/managed-by': 'Foo' } }))).toEqual([]);
  });

  test('is the ClusterRequest alone where a cluster of its own became one that exists', () => {
    const found = { accessRequests: [named('foo--a--x')], clusterRequests: [named('foo--a--x')] };
    expect(decideStrays(KEY, [wanted()], found)).toMatchObject([
      { kind: 'ClusterRequest', identity: { name: 'foo--a--x' } },
    ]);
    expect(decideStrays(KEY, [wanted({ ordersCluster: true })], found)).toEqual([]);
  });

  test('is not what somebody with other registrations wants who does not lead yet', () => {
    const found = {
      accessRequests: ['now', 'before', undefined].map((under, index) =>
        named(`foo--a--${index}`, {
          annotations: {
            [OBJECT_ANNOTATION]: ANNOTATION,
            ...(under === undefined ? {} : { [WANTED_UNDER_ANNOTATION]: under }),
          },
        }),
      ),
      clusterRequests: [],
    };
    const names = (inForce?: string) => decideStrays(KEY, [], found, inForce).map(({ identity }) => identity.name);
    expect(names('now')).toEqual(['foo--a--1', 'foo--a--2']);
    expect(names()).toEqual(['foo--a--0', 'foo--a--1', 'foo--a--2']);
  });
});
