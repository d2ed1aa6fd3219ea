import { beforeEach, describe, expect, test } from 'vitest';
import { marksPort } from '../../../../functions/requests/marks.ts';
import type { Run } from '../../../../functions/step/run.ts';
import { store } from '../../../../functions/workspace/kubeconfig-secret.ts';
import { workspaceSecret } from '../../../../functions/requests/desired.ts';
import type { WorkspacePort } from '../../../../shared/kcp/workspace-port.ts';
import { NAMESPACES, SECRETS } from '../../../../shared/kube/resources.ts';
import type { Secret } from '../../../../shared/model/access.ts';
import { formatObjectKey, type ObjectKey } from '../../../../shared/model/object-key.ts';
import { OBJECT_ANNOTATION, workspaceNamespace } from '../../../../shared/names.ts';
import { MemoryCluster, pathOf } from '../../../support/memory-cluster.ts';
import { kcpKey, provider } from '../objects.ts';
import { runWith } from '../step/home.ts';

const TENANT = workspaceNamespace(provider.name, kcpKey.cluster);
const workspace = {
  tuning: { renewalThreshold: 0.8 },
  credentials: (token: string) => ({ server: 'https://kcp.example.org/clusters/2hj3kx', token }),
} as unknown as WorkspacePort;
const token = (name: string) => ({
  token: name,
  issuedAt: new Date('2026-05-05T05:00:00Z'),
  expiresAt: new Date('2026-05-05T06:00:00Z'),
  boundTo: { name, uid: `uid-of-${name}` },
});

let platform: MemoryCluster;
let run: Run;
const claimed = (key: ObjectKey): unknown =>
  platform.put(NAMESPACES, {
    metadata: { name: TENANT, annotations: { [OBJECT_ANNOTATION]: formatObjectKey(key) } },
  });
const read = () => {
  const { name, namespace } = workspaceSecret(run);
  return platform.get<Secret>(SECRETS, name, namespace);
};

beforeEach(() => {
  platform = new MemoryCluster();
  run = {
    ...runWith({} as never, { key: kcpKey }),
    platform: platform.client,
    marks: marksPort(platform.client, kcpKey, provider),
    tenantNamespace: TENANT,
  };
  claimed(kcpKey);
});

describe('the kubeconfig of a workspace', () => {
  test('is written again with the next token', async () => {
    await store(run, workspace, {}, token('first'), undefined);
    await store(run, workspace, {}, token('second'), await read());
    expect(Buffer.from((await read())?.data?.['kubeconfig'] ?? '', 'base64').toString()).toContain('second');
  });

  test.each([
    ['another object has claimed the workspace', () => claimed({ ...kcpKey, name: 'other', uid: 'uid-2' })],
    ['the next object of its name has', () => claimed({ ...kcpKey, uid: 'uid-2' })],
    ['its namespace is gone', () => platform.objects.delete(pathOf('Namespace', TENANT))],
  ])('is not left behind by one who was slow: %s', async (_what, meanwhile) => {
    meanwhile();
    await expect(store(run, workspace, {}, token('late'), undefined)).rejects.toMatchObject({ reason: 'Conflict' });
    expect(await read()).toBeUndefined();
  });

  test('is not written over one that was made since', async () => {
    await store(run, workspace, {}, token('first'), undefined);
    const seen = await read();
    await store(run, workspace, {}, token('second'), seen);
    await expect(store(run, workspace, {}, token('late'), seen)).rejects.toMatchObject({ reason: 'Conflict' });
    await expect(store(run, workspace, {}, token('late'), undefined)).rejects.toMatchObject({ reason: 'Conflict' });
  });
});
