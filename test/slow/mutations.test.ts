import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { FaultRun } from '../faults/run.ts';
import { scriptOf } from '../faults/script.ts';
import { mutant } from '../support/other-version.ts';

/** The checks can fail: sources in which one thing is wrong break a promise. */
const MUTATIONS: [string, { file: string; from: string; to: string }, RegExp][] = [
  [
    'a lease that everybody gets',
    { file: 'shared/queue/scripts.ts', from: "token, 'NX', 'PX', ttl)", to: "token, 'PX', ttl)" },
    /two runs at once|after the removal|went/,
  ],
  [
    'an object that is taken for its forerunner',
    {
      file: 'functions/step/find-object.ts',
      from: 'if (object?.metadata.uid === key.uid)',
      to: 'if (object !== undefined)',
    },
    /\w/,
  ],
  [
    'a teardown in the wrong order',
    {
      file: 'functions/access-teardown/handler.ts',
      from: 'requestIdentities(run.key, run.provider).toReversed()',
      to: "requestIdentities(run.key, run.provider).map((each) => ({ ...each, id: each.id === 'mcp' ? 'wl' : 'mcp' }))",
    },
    /went in the order/,
  ],
  [
    'a change during a call that is forgotten',
    {
      file: 'shared/queue/scripts.ts',
      from: "return tonumber(redis.call('ZSCORE', parked, member) or 0)\n`;\n\n/** ARGV: member, due",
      to: "redis.call('ZREM', parked, member)\nreturn 0\n`;\n\n/** ARGV: member, due",
    },
    /does not come to rest|was wanted last/,
  ],
];

test.each(MUTATIONS)(
  '%s is noticed',
  async (name, mutation, words) => {
    const root = mutant(join(inject('runFolder'), `mutant-${name.replaceAll(' ', '-')}`), mutation);
    const run = await FaultRun.start(8, { root, restMs: 30_000 });
    try {
      const broken: string[] = [];
      for (let seed = 1; broken.length === 0 && seed <= 6; seed++)
        broken.push(...(await run.play(scriptOf({ seed, objects: 8, steps: 80, faults: 0.02 }))));
      expect(broken.join('\n')).toMatch(words);
    } finally {
      await run.stop();
    }
  },
  900_000,
);
