import { describe, expect, test } from 'vitest';
import { firstStartOn, type FirstStartOptions } from '../../../../bridge/upkeep/first-start.ts';
import { ApiError } from '../../../../shared/kube/api-error.ts';
import type { KubeObject, ResourceType } from '../../../../shared/model/kubernetes.ts';

const OWN = 'foo-system';
const provider = { name: 'foo', controllerName: 'foo.example.org' };
const error = (status: number, reason: string) => new ApiError('POST', status, { reason });

/** A platform cluster with these objects, which answers creations so. */
class Platform {
  readonly made: string[] = [];
  answers: Error[] = [];
  silent = false;
  objects: { type: string; namespace: string }[] = [];

  create<T extends KubeObject>(type: ResourceType, object: T): Promise<T> {
    const id = `${type.kind}/${object.metadata.namespace}/${object.metadata.name}`;
    const answer = this.answers.shift() ?? (this.made.includes(id) ? error(409, 'AlreadyExists') : undefined);
    if (answer) return Promise.reject(answer);
    this.made.push(id);
    return Promise.resolve(object);
  }

  async *pages({ kind }: ResourceType) {
    if (this.silent) throw error(0, 'NoAnswer');
    const items = this.objects
      .filter(({ type }) => type === kind)
      .map(({ namespace }) => ({ metadata: { namespace } }));
    yield await Promise.resolve({ metadata: {}, items });
  }
}

const on = (platform: Platform) =>
  firstStartOn({ provider, platform: platform as unknown as FirstStartOptions['platform'], namespace: OWN });

describe('the first start', () => {
  test('is claimed once, by one replica', async () => {
    const platform = new Platform();
    const [one, two] = [on(platform), on(platform)];
    const claims = await Promise.all([one.claim(), two.claim()]);
    expect(claims.filter(Boolean)).toHaveLength(1);
    expect(await on(platform).claim()).toBe(false);
    expect(platform.made).toEqual([`Lease/${OWN}/foo-queue`]);
  });

  test.each([['ClusterRequest'], ['AccessRequest'], ['Namespace']])(
    'is not where a %s of an object is there: no mark was left by an earlier version',
    async (type) => {
      const platform = new Platform();
      platform.objects = [{ type, namespace: 'mcp--1' }];
      expect(await on(platform).claim()).toBe(false);
      expect(platform.made).toHaveLength(1);
    },
  );

  test('is where nothing was ordered but access to the onboarding cluster', async () => {
    const platform = new Platform();
    platform.objects = [{ type: 'AccessRequest', namespace: OWN }];
    expect(await on(platform).claim()).toBe(true);
  });

  test('is not where a mark can not be left', async () => {
    const platform = new Platform();
    platform.answers = [error(403, 'Forbidden')];
    expect(await on(platform).claim()).toBe(false);
  });

  test('is not known while there is no answer', async () => {
    const platform = new Platform();
    platform.answers = [error(0, 'NoAnswer'), error(503, 'ServiceUnavailable')];
    const first = on(platform);
    await expect(first.claim()).rejects.toThrow('NoAnswer');
    await expect(first.claim()).rejects.toThrow('ServiceUnavailable');
    expect(await first.claim()).toBe(true);
  });

  test('is not after one who died, or could not look any further, once the mark was left', async () => {
    const platform = new Platform();
    platform.silent = true;
    await expect(on(platform).claim()).rejects.toThrow('NoAnswer');
    platform.silent = false;
    expect(await on(platform).claim()).toBe(false);
  });
});

test('the mark is left where it is missing, and then never asked for again', async () => {
  const platform = new Platform();
  const first = on(platform);
  for (let count = 0; count < 3; count += 1) await first.leave();
  expect(platform.made).toHaveLength(1);
  // Nobody would be asked for it a second time.
  platform.made.splice(0);
  await first.leave();
  expect(platform.made).toEqual([]);
});

test('where it can not be left, that is not tried at every look', async () => {
  const platform = new Platform();
  platform.answers = [error(403, 'Forbidden'), error(403, 'Forbidden')];
  const first = on(platform);
  for (let count = 0; count < 3; count += 1) await first.leave();
  expect(platform.answers).toHaveLength(1);
});
