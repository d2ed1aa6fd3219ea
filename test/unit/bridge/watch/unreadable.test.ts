import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Answer, LoopRig, line, listEnd, refuses, says, saysAndEnds, until } from './loop-rig.ts';

const rig = LoopRig.forEach();

describe('a server that cannot be read', () => {
  test.each([401, 403, 404, 500, 503])(
    'with %i deletes nothing: the sink hears nothing until it can be read',
    async (status) => {
      const refusals = Array.from({ length: 3 }, () => refuses(status));
      const whole = says(line('ADDED', 'a', '1'), listEnd('2'));
      rig.answers = [saysAndEnds(line('ADDED', 'a', '1'), listEnd('2')), ...refusals, whole];
      rig.loop.start();
      await until(() => !rig.loop.state.connected);
      expect(rig.heard).toEqual(['all: a']);
      expect(rig.loop.state.lastError).toContain('no');
      await until(() => rig.loop.state.connected);
      expect(rig.heard).not.toContain('all: ');
    },
  );

  test.each<[string, Answer]>([
    [
      'an answer',
      (response) =>
        void response
          .writeHead(429, { 'retry-after': '60' })
          .end(JSON.stringify({ kind: 'Status', message: 'slow down' })),
    ],
    [
      'an ERROR event',
      says(
        `${JSON.stringify({ type: 'ERROR', object: { code: 429, message: 'slow down', details: { retryAfterSeconds: 60 } } })}\n`,
      ),
    ],
  ])(
    'since it wants to be left alone for a while, by %s, is not asked before, and that is said',
    async (_, throttled) => {
      rig.answers = [saysAndEnds(listEnd('2')), throttled];
      rig.loop.start();
      await until(() => !rig.loop.state.connected);
      expect(rig.loop.state.lastError).toContain('slow down');
      // Many times the longest backoff.
      await sleep(200);
      expect(rig.queries).toHaveLength(2);
      expect(rig.loop.state.connected).toBe(false);
    },
  );

  test('is asked less and less often', async () => {
    rig.answers = Array.from({ length: 1_000 }, () => refuses(403));
    rig.loop.start();
    await sleep(300);
    // 5, 10, then 20 ms, each shortened by up to half: never more than thirty-odd requests.
    expect(rig.queries.length).toBeGreaterThan(5);
    expect(rig.queries.length).toBeLessThan(40);
    expect(rig.loop.state.synced).toBe(false);
  });
});
