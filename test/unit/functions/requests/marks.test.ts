import { beforeEach, describe, expect, test } from 'vitest';
import { markInstalled, marksPort, markUninstalled } from '../../../../functions/requests/marks.ts';
import { keepMemory, memoryOf } from '../../../../functions/workspace/memory.ts';
import { NAMESPACES } from '../../../../shared/kube/resources.ts';
import type { KubeObject } from '../../../../shared/model/kubernetes.ts';
import { formatObjectKey, type ObjectKey } from '../../../../shared/model/object-key.ts';
import {
  INSTALLED_ANNOTATION,
  OBJECT_ANNOTATION,
  UNINSTALLED_ANNOTATION,
  workspaceNamespace,
} from '../../../../shared/names.ts';
import { MemoryCluster, pathOf } from '../../../support/memory-cluster.ts';
import { kcpKey, OTHER, provider, serviceObject } from '../objects.ts';
import type { Run } from '../../../../functions/step/run.ts';

const TENANT = workspaceNamespace(provider.name, kcpKey.cluster);
/** An object of the same name, made after the first went. */
const NEXT: ObjectKey = { ...kcpKey, uid: 'uid-3' };
const object = serviceObject([], { namespace: 'default' });

let platform: MemoryCluster;
const port = () => marksPort(platform.client, kcpKey, provider);
const claimed = (key: ObjectKey, more: Record<string, string> = {}): KubeObject =>
  platform.put(NAMESPACES, {
    metadata: { name: TENANT, annotations: { [OBJECT_ANNOTATION]: formatObjectKey(key), ...more } },
  });
const annotations = () => platform.objects.get(pathOf('Namespace', TENANT))?.metadata.annotations;

beforeEach(() => {
  platform = new MemoryCluster();
});

describe('what the platform remembers of an object', () => {
  test('is written although the holder has changed meanwhile, as long as it is the object’s', async () => {
    claimed(kcpKey);
    const marks = await port().read();
    claimed(kcpKey, { somebody: 'else' });
    await markInstalled(port(), kcpKey, object, marks);
    expect(annotations()).toMatchObject({ somebody: 'else', [INSTALLED_ANNOTATION]: 'uid-1 1' });
    await markUninstalled(port(), kcpKey, marks);
    expect(annotations()).toMatchObject({ [UNINSTALLED_ANNOTATION]: 'uid-1' });
  });

  test.each([
    ['another object of the workspace', OTHER],
    ['the next object of its name', NEXT],
  ])('is not written onto what %s has claimed since', async (_whose, key) => {
    claimed(kcpKey);
    const marks = await port().read();
    claimed(key);
    const before = annotations();
    await expect(markInstalled(port(), kcpKey, object, marks)).rejects.toMatchObject({ reason: 'Conflict' });
    await expect(markUninstalled(port(), kcpKey, marks)).rejects.toMatchObject({ reason: 'Conflict' });
    expect(annotations()).toEqual(before);
  });

  test('is not written where the holder is gone', async () => {
    claimed(kcpKey);
    const marks = await port().read();
    platform.objects.clear();
    await markUninstalled(port(), kcpKey, marks);
    await markUninstalled(port(), kcpKey, undefined);
    expect([...platform.objects]).toEqual([]);
  });

  test('of a workspace is not written over what was remembered since', async () => {
    const run = { platform: platform.client, tenantNamespace: TENANT } as Run;
    const before = memoryOf(claimed(kcpKey), false);
    const first = await keepMemory(run, before, { ...before, uids: { a: '1' } });
    // From what it has returned it goes on.
    const second = await keepMemory(run, first, { ...first, uids: { a: '1', b: '2' } });
    claimed(OTHER);
    const late = keepMemory(run, second, { ...second, uids: { a: '-' } });
    await expect(late).rejects.toMatchObject({ reason: 'Conflict' });
  });
});
