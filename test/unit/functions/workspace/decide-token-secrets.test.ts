import { describe, expect, test } from 'vitest';
import { marked, type Memory } from '../../../../functions/workspace/decide-objects.ts';
import {
  formatTokenSecrets,
  parseTokenSecrets,
  planTokenSecrets,
} from '../../../../functions/workspace/decide-token-secrets.ts';
import { bootstrapSecret, tokenSecret } from '../../../../functions/workspace/objects.ts';
import type { KubeObject } from '../../../../shared/model/kubernetes.ts';

const MEMORY: Memory = { key: 'platform', version: '1', uids: {}, byLabel: false };
const NOW = new Date('2026-03-01T12:00:00Z');

function secret(make: typeof tokenSecret, suffix: string, ageSeconds = 1): KubeObject {
  const { object } = marked(MEMORY, make('db', suffix));
  const creationTimestamp = new Date(NOW.getTime() - ageSeconds * 1_000).toISOString();
  return { ...object, metadata: { ...object.metadata, uid: suffix, creationTimestamp } };
}
const planned = (seen: KubeObject[], minting: boolean, inUse: string[] = []) =>
  planTokenSecrets(
    'db',
    seen,
    MEMORY,
    inUse.map((uid) => ({ name: `x-${uid}`, uid })),
    {
      minting,
      now: NOW,
      bootstrapLifeMs: 30_000,
    },
  );
const uids = (plan: ReturnType<typeof planned>): string[] => plan.remove.map(({ uid }) => uid);

describe('Secrets in a workspace', () => {
  const seen = [
    secret(bootstrapSecret, 'b'),
    secret(tokenSecret, '1'),
    secret(tokenSecret, '2'),
    secret(tokenSecret, '3'),
  ];

  test('of tokens that are handed out stay, and all others that a pass left behind go', () => {
    expect(uids(planned(seen, false, ['2', '3']))).toEqual(['b', '1']);
  });

  test('that a pass left behind serve the next one', () => {
    const plan = planned(seen, true, ['2', '3']);
    expect([plan.bootstrap?.metadata.uid, plan.unused?.metadata.uid]).toEqual(['b', '1']);
    expect(uids(plan)).toEqual([]);
  });

  test('that was never filled is made anew', () => {
    const plan = planned([secret(bootstrapSecret, 'old', 31)], true);
    expect(plan.bootstrap).toBeUndefined();
    expect(uids(plan)).toEqual(['old']);
  });

  test("of somebody else are left alone, and not used: a tenant's token is none of ours", () => {
    const copied = secret(bootstrapSecret, 'b');
    copied.metadata.name = 'service-provider-db-bootstrap-theirs';
    const planted = secret(tokenSecret, 'p');
    delete planted.metadata.annotations;
    const plan = planned([copied, planted], true);
    expect(plan).toEqual({ bootstrap: undefined, unused: undefined, remove: [] });
  });
});

test('what is written about them is read again, and rubbish is none', () => {
  const secrets = [
    { name: 'a', uid: '1' },
    { name: 'b', uid: '2' },
  ];
  expect(parseTokenSecrets(formatTokenSecrets(secrets))).toEqual(secrets);
  for (const rubbish of [undefined, '', ',', 'a', ':', 'a:']) expect(parseTokenSecrets(rubbish)).toEqual([]);
});
