import { describe, expect, test } from 'vitest';
import {
  decideWorkspaceAccess,
  EXPIRES_AT_ANNOTATION,
  grantedLifeMs,
  fingerprint,
  PERMISSIONS_ANNOTATION,
  RENEW_AT_ANNOTATION,
  renewalTime,
} from '../../../../functions/workspace/decide.ts';
import type { Secret } from '../../../../shared/model/access.ts';
import { CONTENTS_ANNOTATION, OBJECT_ANNOTATION } from '../../../../shared/names.ts';
import { THEN } from '../objects.ts';

const WANTED = { object: 'key', permissions: 'hash' };
const NOW = new Date('2026-03-01T12:00:00Z');
const later = (minutes: number): string => new Date(NOW.getTime() + minutes * 60_000).toISOString();

function secret(annotations: Record<string, string> = {}, rest: Partial<Secret> = {}): Secret {
  return {
    metadata: {
      name: 's',
      annotations: {
        [OBJECT_ANNOTATION]: 'key',
        [PERMISSIONS_ANNOTATION]: 'hash',
        [EXPIRES_AT_ANNOTATION]: later(20),
        [RENEW_AT_ANNOTATION]: later(10),
        ...annotations,
      },
    },
    data: { kubeconfig: 'eA==' },
    ...rest,
  };
}

describe('what is done about the kubeconfig of a workspace', () => {
  test('one that is good is used until its renewal', () => {
    expect(decideWorkspaceAccess(secret(), WANTED, NOW)).toEqual({ do: 'use', renewAt: new Date(later(10)) });
  });

  test('one that is as we left it is used', () => {
    const found = secret({ [CONTENTS_ANNOTATION]: fingerprint('eA==') });
    expect(decideWorkspaceAccess(found, WANTED, NOW)).toMatchObject({ do: 'use' });
  });

  test('one that is due is renewed with its own token, from the very moment on', () => {
    expect(decideWorkspaceAccess(secret({ [RENEW_AT_ANNOTATION]: later(0) }), WANTED, NOW)).toEqual({ do: 'renew' });
    expect(decideWorkspaceAccess(secret({ [RENEW_AT_ANNOTATION]: later(-5) }), WANTED, NOW)).toEqual({ do: 'renew' });
  });

  test('one on its way out is waited for', () => {
    const leaving = secret();
    leaving.metadata.deletionTimestamp = THEN;
    expect(decideWorkspaceAccess(leaving, WANTED, NOW)).toMatchObject({ do: 'wait' });
  });

  test.each([
    ['there is none', undefined, /no kubeconfig/],
    ['it was made for another object', secret({ [OBJECT_ANNOTATION]: 'other' }), /another object/],
    ['other permissions are declared now', secret({ [PERMISSIONS_ANNOTATION]: 'old' }), /permissions/],
    ['its token has expired', secret({ [EXPIRES_AT_ANNOTATION]: later(0) }), /expired/],
    ['its dates are damaged', secret({ [EXPIRES_AT_ANNOTATION]: 'soon' }), /expired/],
    ['somebody has edited it', secret({ [CONTENTS_ANNOTATION]: fingerprint('eQ==') }), /edited/],
    ['somebody has emptied it', secret({ [CONTENTS_ANNOTATION]: fingerprint('eQ==') }, { data: {} }), /edited/],
    ['it holds no kubeconfig', secret({}, { data: {} }), /expired/],
    ['nothing is known about it', { metadata: { name: 's' } }, /another object/],
  ])('everything is made from the start where %s', (_why, found, why) => {
    expect(decideWorkspaceAccess(found, WANTED, NOW)).toEqual({
      do: 'bootstrap',
      why: expect.stringMatching(why) as string,
    });
  });

  test('a damaged renewal date renews, rather than trust the token to its end', () => {
    expect(decideWorkspaceAccess(secret({ [RENEW_AT_ANNOTATION]: 'soon' }), WANTED, NOW)).toEqual({ do: 'renew' });
  });
});

describe('renewal', () => {
  test('is due at 80 % of what the server granted', () => {
    const issued = new Date('2026-03-01T00:00:00Z');
    expect(renewalTime(issued, new Date('2026-03-08T00:00:00Z'), 0.8)).toEqual(new Date('2026-03-06T14:24:00Z'));
    expect(renewalTime(issued, new Date('2026-03-01T00:10:00Z'), 0.8)).toEqual(new Date('2026-03-01T00:08:00Z'));
  });
});

describe('the life that was granted to a token', () => {
  const token = (claims: object): string =>
    `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.signature`;

  test.each([
    ['is that between its own two times, whatever ours is', token({ iat: 1_000, exp: 1_600 }), 600_000],
    ['is not known of one that never ends', token({ iat: 1_000 }), undefined],
    ['is not known of one that ended before it began', token({ iat: 1_600, exp: 1_000 }), undefined],
    ['is not known of one that is no JWT', 'opaque', undefined],
    ['is not known of one that holds something else', `e30.${Buffer.from('{').toString('base64url')}.x`, undefined],
  ])('%s', (_what, given, expected) => {
    expect(grantedLifeMs(given)).toBe(expected);
  });
});
