import { beforeEach, describe, expect, test } from 'vitest';
import { accessTeardown } from '../../../../functions/access-teardown/handler.ts';
import { marksPort } from '../../../../functions/requests/marks.ts';
import type { Run } from '../../../../functions/step/run.ts';
import { workspaceNames } from '../../../../functions/workspace/objects.ts';
import { workspaceSecret } from '../../../../functions/requests/desired.ts';
import type { WorkspacePort } from '../../../../shared/kcp/workspace-port.ts';
import { NAMESPACES, SECRETS } from '../../../../shared/kube/resources.ts';
import { done } from '../../../../shared/events/outcome.ts';
import type { ServiceObject } from '../../../../shared/model/kubernetes.ts';
import { formatObjectKey, type ObjectKey } from '../../../../shared/model/object-key.ts';
import {
  MADE_ANNOTATION,
  OBJECT_ANNOTATION,
  RUNTIME_LABEL,
  UNINSTALLED_ANNOTATION,
  workspaceNamespace,
} from '../../../../shared/names.ts';
import { MemoryCluster, pathOf } from '../../../support/memory-cluster.ts';
import { deleting, kcpKey, OTHER, provider, serviceObject } from '../objects.ts';
import { runWith } from '../step/home.ts';

const TENANT = workspaceNamespace(provider.name, kcpKey.cluster);
const names = workspaceNames(provider.name);
const labels = { [RUNTIME_LABEL]: provider.name };

let platform: MemoryCluster;
let workspace: MemoryCluster;
let run: Run;
let object: ServiceObject;

/** The platform's memory of a workspace that an object has claimed and that is on its way out. */
function claimed(key: ObjectKey, made: Record<string, string> = {}): void {
  const annotations = {
    [OBJECT_ANNOTATION]: formatObjectKey(key),
    [UNINSTALLED_ANNOTATION]: key.uid,
    [MADE_ANNOTATION]: JSON.stringify(made),
  };
  platform.put(NAMESPACES, { metadata: { name: TENANT, labels, annotations } });
}

beforeEach(() => {
  platform = new MemoryCluster();
  workspace = new MemoryCluster();
  object = workspace.put(provider.api.type, serviceObject([], { ...deleting, namespace: 'default' }));
  const port = { virtual: workspace, tuning: { teardownPatienceMs: 0 } } as unknown as WorkspacePort;
  run = {
    ...runWith({} as never, { key: kcpKey }),
    platform: platform.client,
    home: workspace.client,
    workspace: port,
    marks: marksPort(platform.client, kcpKey, provider),
    tenantNamespace: TENANT,
    guard: () => undefined,
  };
});

describe('the last thing that is done for an object of a workspace', () => {
  test('takes all that is ours along, also while another of the workspace waits for its turn', async () => {
    const namespace = workspace.put(NAMESPACES, { metadata: { name: names.namespace, labels } });
    claimed(kcpKey, { [`Namespace//${names.namespace}`]: namespace.metadata.uid ?? '' });
    const secret = workspaceSecret(run);
    platform.put(SECRETS, { metadata: { name: secret.name, namespace: secret.namespace } });
    workspace.put(provider.api.type, serviceObject([], { name: 'other', namespace: 'default', uid: 'uid-2' }));
    expect(await accessTeardown(object, run)).toEqual({ outcome: done() });
    expect([...platform.objects.keys()]).toEqual([]);
    expect([...workspace.objects.keys()].filter((path) => path.startsWith('Namespace'))).toEqual([]);
  });

  test('leaves a workspace alone that another has claimed since the claim was read', async () => {
    claimed(kcpKey);
    const { read } = run.marks;
    // Between the look and the end of it: a holder that was slow is not alone any more.
    const slow = { ...run.marks, read: async () => read().finally(() => claimed(OTHER)) };
    await expect(accessTeardown(object, { ...run, marks: slow })).rejects.toMatchObject({ reason: 'Conflict' });
    expect(platform.objects.get(pathOf('Namespace', TENANT))?.metadata.annotations).toMatchObject({
      [OBJECT_ANNOTATION]: formatObjectKey(OTHER),
    });
    // The next look shows whose it is.
    expect(await accessTeardown(object, run)).toMatchObject({ outcome: { kind: 'done' } });
    expect(platform.objects.has(pathOf('Namespace', TENANT))).toBe(true);
  });

  test('does not take the kubeconfig of another along that was made since', async () => {
    claimed(kcpKey);
    const { name, namespace } = workspaceSecret(run);
    platform.put(SECRETS, { metadata: { name, namespace, uid: 'ours' } });
    const get = platform.get.bind(platform);
    platform.get = async (type, ...of) => {
      const found = await get(type, ...of);
      if (type.kind === 'Secret') platform.put(SECRETS, { metadata: { name, namespace, uid: 'of-another' } });
      return found as never;
    };
    await expect(accessTeardown(object, run)).rejects.toMatchObject({ reason: 'Conflict' });
    expect(platform.objects.get(pathOf('Secret', name, namespace))?.metadata.uid).toBe('of-another');
  });
});
