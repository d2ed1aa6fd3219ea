import { describe, expect, test } from 'vitest';
import type { KubeClient } from '../../../../shared/kube/ports.ts';
import { CONFIG_MAPS } from '../../../../shared/kube/resources.ts';
import type { KubeObject } from '../../../../shared/model/kubernetes.ts';
import { formatObjectKey } from '../../../../shared/model/object-key.ts';
import { OBJECT_ANNOTATION } from '../../../../shared/names.ts';
import { applyOwned, removeOwned } from '../../../../shared/provider/owned.ts';
import { kcpKey, standardKey } from '../../functions/objects.ts';

const OWNER = formatObjectKey(standardKey);
const metadata = { name: 'x', namespace: 'n' };
const made = (owner: string | undefined, more: object = {}): KubeObject => ({
  metadata: { ...metadata, uid: 'u', ...(owner ? { annotations: { [OBJECT_ANNOTATION]: owner } } : {}), ...more },
});

/** A cluster with at most one object. */
class Cluster {
  object: KubeObject | undefined;
  readonly writes: unknown[] = [];
  /** Somebody's finalizer holds it. */
  held = false;

  constructor(object: KubeObject | undefined) {
    this.object = object;
  }

  get client(): KubeClient {
    return {
      get: () => Promise.resolve(this.object),
      apply: (_type: unknown, object: KubeObject, options: object) => {
        this.writes.push(['apply', object.metadata, options]);
        return Promise.resolve((this.object = object));
      },
      delete: (_type: unknown, name: string, options: object) => {
        this.writes.push(['delete', name, options]);
        if (!this.held) this.object = undefined;
        return Promise.resolve(true);
      },
    } as unknown as KubeClient;
  }
}

const FOREIGN: [string, KubeObject][] = [
  ['nobody that we know', made(undefined)],
  ["another tenant's of the same name", made(formatObjectKey({ ...standardKey, namespace: 'project-b' }))],
  ['an object in a workspace', made(formatObjectKey({ ...kcpKey, name: standardKey.name }))],
  ["another provider's", made(formatObjectKey({ ...standardKey, provider: 'other' }))],
  ['a mark that says nothing', made('db|standard')],
];

describe('what a provider keeps for one object', () => {
  test.each(FOREIGN)('is never written over, nor deleted: %s', async (_whose, object) => {
    const cluster = new Cluster(object);
    await expect(applyOwned(cluster.client, CONFIG_MAPS, { metadata }, OWNER)).rejects.toThrow(
      expect.objectContaining({
        code: 'FOREIGN_OBJECT',
        message: 'ConfigMap n/x was not made for this object, and is left alone: rename or remove it',
      }) as Error,
    );
    expect(await removeOwned(cluster.client, CONFIG_MAPS, metadata, OWNER)).toBe(true);
    expect(cluster.writes).toEqual([]);
  });

  test('is marked with its owner, and not made by force where somebody is faster', async () => {
    const cluster = new Cluster(undefined);
    await applyOwned(cluster.client, CONFIG_MAPS, { metadata: { ...metadata, annotations: { a: 'b' } } }, OWNER);
    const annotations = { a: 'b', [OBJECT_ANNOTATION]: OWNER };
    expect(cluster.writes).toEqual([['apply', { ...metadata, annotations }, { force: false }]]);
  });

  test.each([
    ['its own', OWNER],
    ['an earlier one of that very name', formatObjectKey({ ...standardKey, uid: 'before' })],
  ])('is written again where it is %s, that one and no other', async (_whose, owner) => {
    const cluster = new Cluster(made(owner));
    await applyOwned(cluster.client, CONFIG_MAPS, { metadata }, OWNER);
    const annotations = { [OBJECT_ANNOTATION]: OWNER };
    expect(cluster.writes).toEqual([['apply', { ...metadata, annotations, uid: 'u' }, { force: true }]]);
  });

  test('is gone once it is', async () => {
    const cluster = new Cluster(made(OWNER));
    cluster.held = true;
    expect(await removeOwned(cluster.client, CONFIG_MAPS, metadata, OWNER)).toBe(false);
    cluster.object = made(OWNER, { deletionTimestamp: '2026-01-01T00:00:00Z' });
    expect(await removeOwned(cluster.client, CONFIG_MAPS, metadata, OWNER)).toBe(false);
    expect(cluster.writes).toEqual([['delete', 'x', { namespace: 'n', uid: 'u' }]]);
    cluster.object = undefined;
    expect(await removeOwned(cluster.client, CONFIG_MAPS, metadata, OWNER)).toBe(true);
  });
});
