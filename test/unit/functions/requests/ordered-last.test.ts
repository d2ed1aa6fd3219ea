import { beforeEach, describe, expect, test } from 'vitest';
import { declare } from '../../../../functions/requests/declared.ts';
import { requestIdentities, workspaceSecret } from '../../../../functions/requests/desired.ts';
import type { Run } from '../../../../functions/step/run.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, SECRETS } from '../../../../shared/kube/resources.ts';
import type { AccessSpec } from '../../../../shared/model/access.ts';
import type { KubeObject } from '../../../../shared/model/kubernetes.ts';
import { formatObjectKey, type ObjectKey } from '../../../../shared/model/object-key.ts';
import { ACCESS_ANNOTATION, OBJECT_ANNOTATION } from '../../../../shared/names.ts';
import { defineProvider } from '../../../../shared/provider/define.ts';
import { MemoryCluster } from '../../../support/memory-cluster.ts';
import { deleting, kcpKey, providerOptions, serviceObject, standardKey } from '../objects.ts';
import { runWith } from '../step/home.ts';

const RIGHTS: AccessSpec = {
  permissions: [{ namespace: 'last', rules: [{ resources: ['secrets'], verbs: ['get'] }] }],
};
const provider = defineProvider({
  ...providerOptions,
  access: {
    // What it was read from is gone.
    additionalData: () => Promise.reject(new Error('ConfigMap settings is gone')),
    mcp: (_object, _config, _data: object) => RIGHTS,
    workload: RIGHTS,
  },
});
const left = serviceObject([], deleting);

let platform: MemoryCluster;
const runFor = (key: ObjectKey): Run => ({
  ...runWith({} as never, { key, provider }),
  platform: platform.client,
  tenantNamespace: 'tenant',
  ...(key.mode === 'kcp' ? { workspace: {} as never } : {}),
});
function order(key: ObjectKey, without?: string): void {
  for (const { id, name, namespace, ownerLabels, ordersCluster } of requestIdentities(key, provider)) {
    const metadata = { name, namespace, labels: { ...ownerLabels } };
    const spec = { requestRef: { name: id, namespace: 'there' }, token: RIGHTS };
    if (id !== without) platform.put(ACCESS_REQUESTS, { metadata, spec } as KubeObject);
    if (ordersCluster) platform.put(CLUSTER_REQUESTS, { metadata, spec: { purpose: 'workload' } } as KubeObject);
  }
}

beforeEach(() => {
  platform = new MemoryCluster();
});

describe('what access was computed from is gone', () => {
  test('a deletion goes on with what was ordered last', async () => {
    order(standardKey);
    expect(await declare(runFor(standardKey), left)).toMatchObject({
      mcp: { token: RIGHTS },
      requests: [
        { id: 'mcp', access: { token: RIGHTS }, cluster: { kind: 'request', reference: { name: 'mcp' } } },
        { id: 'workload', access: { token: RIGHTS }, cluster: { kind: 'order', spec: { purpose: 'workload' } } },
      ],
    });
  });

  test('in a workspace, too', async () => {
    order(kcpKey);
    const { name, namespace } = workspaceSecret(runFor(kcpKey));
    const annotations = { [ACCESS_ANNOTATION]: JSON.stringify(RIGHTS), [OBJECT_ANNOTATION]: formatObjectKey(kcpKey) };
    platform.put(SECRETS, { metadata: { name, namespace, annotations } });
    expect(await declare(runFor(kcpKey), left)).toMatchObject({
      mcp: { token: RIGHTS },
      requests: [{ id: 'workload' }],
    });
  });

  test.each(['mcp', 'workload'])('one whose request for %s is gone as well is told why it waits', async (id) => {
    order(standardKey, id);
    await expect(declare(runFor(standardKey), left)).rejects.toThrow('ConfigMap settings is gone');
  });

  test('nothing is installed with what was ordered last', async () => {
    order(standardKey);
    await expect(declare(runFor(standardKey), serviceObject())).rejects.toThrow('ConfigMap settings is gone');
  });

  test("another one's requests are not taken for it", async () => {
    order(standardKey);
    for (const object of platform.objects.values()) object.metadata.labels = { 'openmcp.cloud/managed-by': 'another' };
    await expect(declare(runFor(standardKey), left)).rejects.toThrow('ConfigMap settings is gone');
  });
});
