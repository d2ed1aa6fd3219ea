import { describe, expect, test } from 'vitest';
import { AccessReviews, detailsFor, READ_METRICS } from '../../../../deploy/command/metrics-access.ts';
import type { KubeClient } from '../../../../shared/kube/ports.ts';

/** A platform cluster that knows the users `reader` and `other`, by tokens of their names. */
class Platform {
  readonly asked: string[] = [];
  allowed = new Set(['reader']);
  failure: Error | undefined;

  get client(): KubeClient {
    return {
      post: async (path: string, body: { spec: { token?: string; user?: string } }) => {
        await Promise.resolve();
        if (this.failure) throw this.failure;
        const { token, user } = body.spec;
        this.asked.push(path.slice(path.lastIndexOf('/') + 1));
        if (token === undefined) return { status: { allowed: this.allowed.has(user ?? '') } };
        return { status: { authenticated: ['reader', 'other'].includes(token), user: { username: token } } };
      },
    } as unknown as KubeClient;
  }
}

function reviews() {
  const platform = new Platform();
  const clock = { now: 0 };
  const all = new AccessReviews(platform.client, () => clock.now);
  return { platform, clock, all, may: (token?: string) => all.may(token && `Bearer ${token}`, READ_METRICS) };
}

describe('who may read metrics', () => {
  test('is asked for once a minute, and a refusal again after ten seconds', async () => {
    const { platform, clock, may } = reviews();
    for (let count = 0; count < 5; count++) expect(await may('reader')).toBe(200);
    expect(platform.asked).toEqual(['tokenreviews', 'subjectaccessreviews']);
    expect(await may('other')).toBe(403);
    expect(await may('nobody')).toBe(401);
    expect(platform.asked).toHaveLength(5);
    platform.allowed.add('other');
    clock.now = 9_999;
    expect([await may('other'), await may('nobody'), await may('reader')]).toEqual([403, 401, 200]);
    expect(platform.asked).toHaveLength(5);
    clock.now = 10_000;
    expect([await may('other'), await may('nobody')]).toEqual([200, 401]);
    expect(platform.asked).toHaveLength(8);
    platform.allowed.clear();
    clock.now = 59_999;
    expect(await may('reader')).toBe(200);
    clock.now = 60_000;
    expect(await may('reader')).toBe(403);
  });

  test('of another path or verb is another question', async () => {
    const { platform, all, may } = reviews();
    await may('reader');
    await all.may('Bearer reader', { path: '/publish', verb: 'post' });
    expect(platform.asked).toHaveLength(4);
  });

  test('is asked for once by many that come at once, and nobody without a token leads to a request', async () => {
    const { platform, may } = reviews();
    expect(await Promise.all([may('reader'), may('reader'), may('reader')])).toEqual([200, 200, 200]);
    expect(await may(undefined)).toBe(401);
    expect(platform.asked).toHaveLength(2);
  });

  test('can not be made to ask without bounds, nor to remember without', async () => {
    const { platform, may } = reviews();
    const answers = await Promise.allSettled(Array.from({ length: 100 }, (_, index) => may(`token-${index}`)));
    expect(answers.filter(({ status }) => status === 'rejected')).toHaveLength(84);
    expect(platform.asked).toHaveLength(16);
    await may('reader');
    for (let index = 0; index < 1_000; index++) await may(`other-${index}`);
    const before = platform.asked.length;
    await may('reader');
    expect(platform.asked).toHaveLength(before + 2);
  });

  test('what could not be told is asked for again', async () => {
    const { platform, may } = reviews();
    platform.failure = new Error('away');
    await expect(may('reader')).rejects.toThrow('away');
    platform.failure = undefined;
    expect(await may('reader')).toBe(200);
  });
});

test('details of readiness are for the same, and for nobody where no cluster says who that is', async () => {
  const { all } = reviews();
  expect(await detailsFor(all)('Bearer reader')).toBe(true);
  expect(await detailsFor(all)('Bearer other')).toBe(false);
  expect(await detailsFor(undefined)('Bearer reader')).toBe(false);
});
