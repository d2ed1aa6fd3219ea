import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../../shared/kube/api-error.ts';
import type { KubeClient } from '../../../../shared/kube/ports.ts';
import type { KubeObject, ResourceType } from '../../../../shared/model/kubernetes.ts';
import { blockDeletion } from '../../../../shared/provider/block-deletion.ts';
import { removeOwned } from '../../../../shared/provider/owned.ts';
import { withoutGoneTypes } from '../../../../shared/provider/type-gone.ts';

const RELEASES: ResourceType = {
  group: 'helm.example.org',
  version: 'v2',
  kind: 'Release',
  plural: 'releases',
  namespaced: true,
};
const refused = (status: number): ApiError => new ApiError('GET x', status, { message: 'refused' });
const WORKSPACE = 'https://kcp.example.org/clusters/2hj3kx';

/** By kind, what a read answers; a kind that is not among them is a type that is not there. */
function cluster(answers: Record<string, KubeObject | ApiError | undefined>, server = 'https://a.example.org') {
  const read = ({ kind }: ResourceType): Promise<KubeObject | undefined> => {
    const answer = kind in answers ? answers[kind] : refused(404);
    return answer instanceof ApiError ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const list = async (type: ResourceType) => ({ metadata: {}, items: [(await read(type)) ?? []].flat() });
  return { server, get: read, delete: read, list, create: read } as unknown as KubeClient;
}

const crd: KubeObject = { metadata: { name: 'releases.helm.example.org' } };
const ABSENT = { CustomResourceDefinition: undefined };
const bound = {
  metadata: { name: 'b' },
  status: { boundResources: [{ group: RELEASES.group, resource: 'releases' }] },
};
const other = { metadata: { name: 'b' }, status: { boundResources: [{ group: RELEASES.group, resource: 'others' }] } };

const GONE: [string, KubeClient][] = [
  ['a cluster without it', cluster(ABSENT)],
  ['one that has no API service of it', cluster({ ...ABSENT, APIService: undefined })],
  ['one where that may not be asked', cluster({ ...ABSENT, APIService: refused(403) })],
  ['a workspace that binds others', cluster({ ...ABSENT, APIBinding: other }, WORKSPACE)],
];
const NO_ANSWER: [string, KubeClient, number][] = [
  ['a version that is not served', cluster({ CustomResourceDefinition: crd }), 404],
  ['a server behind it that is away', cluster({ ...ABSENT, Release: refused(503) }), 503],
  [
    'a server behind it that does not know it',
    cluster({ ...ABSENT, APIService: { metadata: { name: 'v2' }, spec: { service: {} } } as KubeObject }),
    404,
  ],
  ['a binding that is not ready', cluster({ ...ABSENT, APIBinding: bound }, WORKSPACE), 404],
  ['bindings that may not be listed', cluster({ ...ABSENT, APIBinding: refused(403) }, WORKSPACE), 403],
  ['no right to look', cluster({ CustomResourceDefinition: refused(403) }), 403],
  ['a server that does not answer', cluster({ CustomResourceDefinition: refused(500) }), 500],
];

describe('a deletion of what was installed, by its type', () => {
  const metadata = { name: 'x', namespace: 'n' };
  const status = { condition: () => undefined, progressing: () => undefined };
  const attempts = (client: KubeClient): (() => Promise<unknown>)[] => [
    () => withoutGoneTypes(client).get(RELEASES, 'x', 'n'),
    () => withoutGoneTypes(client).list(RELEASES),
    () => withoutGoneTypes(client).delete(RELEASES, 'x'),
    () => removeOwned(client, RELEASES, metadata, 'owner'),
    () => blockDeletion({ mcp: { client }, status: status as never }, { kinds: [RELEASES] }),
  ];

  test.each(GONE)('ends: %s', async (_where, client) => {
    const answers = await Promise.all(attempts(client).map((attempt) => attempt()));
    expect(answers).toEqual([undefined, { metadata: {}, items: [] }, false, true, undefined]);
  });

  test.each(NO_ANSWER)('does not end: %s', async (_what, client, expected) => {
    for (const attempt of attempts(client)) await expect(attempt()).rejects.toMatchObject({ status: expected });
  });

  test('never for a type of Kubernetes itself', async () => {
    const deployments = { ...RELEASES, group: 'apps', plural: 'deployments', kind: 'Deployment' };
    await expect(withoutGoneTypes(cluster(ABSENT)).get(deployments, 'x')).rejects.toMatchObject({ status: 404 });
  });

  test('and nothing can be made', async () => {
    const create = withoutGoneTypes(cluster(ABSENT)).create(RELEASES, { metadata });
    await expect(create).rejects.toMatchObject({ status: 404 });
  });
});
