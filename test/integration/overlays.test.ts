import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FUNCTION_NAMES } from '../../shared/events/catalogue.ts';
import { DEPLOY, kustomized, kustomizedInto, type Manifest } from '../support/manifests.ts';
import { reachOf } from '../support/network.ts';

/** The overlays of `deploy/` as kustomize renders them: what users put over them, and what a network makes of them. */

describe.each(['worker', 'worker-hpa', 'knative'])("%s in a namespace of a user's own", (overlay) => {
  test('leaves nothing in that of ours', async () => {
    const manifests = await kustomizedInto('tenant-services', overlay);
    expect(JSON.stringify(manifests)).not.toContain('foo-system');
    const subjects = manifests.flatMap((each) => each.subjects ?? []).filter(({ kind }) => kind === 'ServiceAccount');
    expect(new Set(subjects.map(({ namespace }) => namespace))).toEqual(new Set(['tenant-services']));
  });

  test('is otherwise the same', async () => {
    const moved = JSON.stringify(await kustomizedInto('foo-system', overlay));
    expect(moved).toBe(JSON.stringify(await kustomized(join(DEPLOY, overlay))));
  });
});

test('without KEDA nothing of it is left', async () => {
  const kinds = (await kustomized(join(DEPLOY, 'worker-hpa'))).map(({ apiVersion, kind }) => `${apiVersion} ${kind}`);
  expect(kinds.filter((kind) => kind.startsWith('keda.sh'))).toEqual([]);
  expect(kinds.filter((kind) => kind.endsWith(' HorizontalPodAutoscaler'))).toHaveLength(FUNCTION_NAMES.length);
});

describe('in the network', () => {
  const DNS = ['53 anywhere', '53/UDP anywhere'];
  const API_SERVERS = ['443 anywhere', '6443 anywhere'];
  const REDIS = ['6379 anywhere'];
  const METRICS = ['8443 metrics=enabled'];
  const sorted = (...lines: string[][]): string[] => lines.flat().toSorted();
  const each = <T>(value: T): Record<string, T> =>
    Object.fromEntries(FUNCTION_NAMES.map((name) => [`foo-${name}`, value]));

  const init = { ingress: [], egress: sorted(DNS, API_SERVERS) };
  const takesFromRedis = { ingress: METRICS, egress: sorted(DNS, API_SERVERS, REDIS) };

  test.each(['worker', 'worker-hpa'])('%s: nobody reaches a pod but for its metrics', async (overlay) => {
    expect(reachOf(await kustomized(join(DEPLOY, overlay)))).toEqual({
      'foo-init': init,
      'foo-bridge': takesFromRedis,
      ...each(takesFromRedis),
    });
  });

  test('knative: its own components reach functions, and the dispatcher reaches the gateway', async () => {
    expect(reachOf(await kustomized(join(DEPLOY, 'knative')))).toEqual({
      'foo-init': init,
      'foo-bridge': takesFromRedis,
      'foo-dispatcher': { ingress: METRICS, egress: sorted(DNS, REDIS, ['8081 metadata.name=kourier-system']) },
      ...each({
        ingress: sorted(
          ['knative-serving', 'kourier-system'].flatMap((name) =>
            [8012, 8013, 8112].map((port) => `${port} metadata.name=${name}`),
          ),
          ['9090 metadata.name=knative-serving'],
        ),
        egress: sorted(DNS, API_SERVERS),
      }),
    });
  });

  test('a pod that no policy is about would be seen', () => {
    const pod = { kind: 'Pod', metadata: { name: 'other' }, spec: { template: { metadata: { labels: {} } } } };
    expect(reachOf([pod as unknown as Manifest])).toEqual({
      other: { ingress: ['everything'], egress: ['everything'] },
    });
  });
});
