import { describe, expect, test } from 'vitest';
import { redact } from '../../../shared/redact.ts';

const JWT = `eyJ${'a'.repeat(20)}.${'b'.repeat(30)}.${'c'.repeat(40)}`;
const PRIVATE_KEY = '-----BEGIN RSA PRIVATE KEY-----\nMIIabcdefgh\nijkl\n-----END RSA PRIVATE KEY-----';

describe('what looks like a credential is removed', () => {
  test.each([
    ['a JSON web token', `got ${JWT}, refused`, 'got [redacted], refused'],
    ['a bearer token', 'authorization: Bearer abcdef123456', 'authorization: Bearer [redacted]'],
    ['basic authentication', 'Basic dXNlcjpwYXNz', 'Basic [redacted]'],
    ['a private key', `key ${PRIVATE_KEY} end`, 'key [redacted] end'],
    ['a private key that was cut', `key ${PRIVATE_KEY.slice(0, 50)}`, 'key [redacted]'],
    ['a token in YAML', 'user:\n  token: abcdef.123456\n  name: x', 'user:\n  token: [redacted]\n  name: x'],
    ['a password in JSON', '{"password":"hunter22"}', '{"password":"[redacted]"}'],
    ['a client key', 'client-key-data: LS0tLS1CRUdJTg==', 'client-key-data: [redacted]'],
    ['the password of Redis', 'rediss://app:s3cr%40t@host:6379/1', 'rediss://app:[redacted]@host:6379/1'],
    ['the password of Redis without a user', 'redis://:s3cret@host', 'redis://:[redacted]@host'],
  ])('%s', (_what, text, shown) => {
    expect(redact(text)).toBe(shown);
  });

  test('a line of JSON stays one', () => {
    const line = { level: 30, token: 'abcdefgh', err: { message: `Bearer ${JWT}` }, key: PRIVATE_KEY, msg: 'end' };
    const shown = redact(JSON.stringify(line));
    expect(JSON.parse(shown)).toEqual({
      level: 30,
      token: '[redacted]',
      err: { message: 'Bearer [redacted]' },
      key: '[redacted]',
      msg: 'end',
    });
  });

  test('a line of JSON with a key that was cut stays one', () => {
    const shown = redact(`${JSON.stringify({ key: PRIVATE_KEY.slice(0, 50), msg: 'end' })}\n`);
    expect(shown).not.toContain('MIIab');
    expect(JSON.parse(shown)).toEqual({ key: '[redacted]', msg: 'end' });
  });

  test('a credential behind escaped quotes: JSON or YAML inside a text of a JSON line', () => {
    const inner = JSON.stringify({ password: 'hunter22', token: 'abcdefgh' });
    expect(redact(JSON.stringify({ msg: inner }))).not.toMatch(/hunter22|abcdefgh/);
    expect(redact(JSON.stringify({ msg: JSON.stringify({ inner }) }))).not.toMatch(/hunter22|abcdefgh/);
    const yaml = redact(JSON.stringify({ msg: 'token: abcdefgh\nname: shown' }));
    expect(JSON.parse(yaml)).toEqual({ msg: 'token: [redacted]\nname: shown' });
  });

  test('every one of them, not the first alone', () => {
    expect(redact(`${JWT} ${JWT} Bearer abcdef123456 Bearer abcdef123456`)).toBe(
      '[redacted] [redacted] Bearer [redacted] Bearer [redacted]',
    );
  });
});

describe('known secrets are removed by value', () => {
  test('wherever they turn up', () => {
    expect(redact('a s3cret$& b s3cret$&', ['s3cret$&'])).toBe('a [redacted] b [redacted]');
  });

  test('unless they are so short that any text would be full of holes', () => {
    expect(redact('a token', ['a', ''])).toBe('a token');
  });
});

test.each([
  'Waiting for AccessRequest mcp--1/db--shop--mcp to be granted',
  'user.tokenFile is refused: embed the token',
  'redis://host:6379',
  'the token has expired',
])('%s is no secret', (text) => {
  expect(redact(text)).toBe(text);
});

describe('a text that was written to take long', () => {
  const LENGTH = 32 * 1024;
  const hostile: [string, string][] = [
    ['beginnings of JSON web tokens', 'eyJ-'],
    ['JSON web tokens that lack an end', `eyJ${'a'.repeat(12)}.`],
    ['JSON web tokens', `${JWT} `],
    ['beginnings of private keys', '-----BEGIN PRIVATE KEY-----'],
    ['beginnings of beginnings of private keys', '-----BEGIN A'],
    ['kinds of private keys', ' PRIVATE KEY'],
    ['ends of private keys', '-----END A'],
    ['bearers', 'Bearer '],
    ['the word token', 'token'],
    ['tokens that are too short', 'token: a, '],
    ['backslashes', '\\'],
    ['spaces', ' '],
    ['one word', 'a'],
    ['addresses of Redis', 'redis://:'],
    ['addresses of Redis without an end', 'redis://a:b'],
    ['dots', '.'],
  ];
  const lead = ['', 'token', 'Bearer', '-----BEGIN ', '-----BEGIN PRIVATE KEY-----', 'redis://', 'eyJ'];

  test.each(hostile)('%s', (_what, part) => {
    for (const begin of lead) {
      const text = (length: number): string => begin + part.repeat(Math.ceil(length / part.length));
      const cpuMs = (given: string): number => {
        const before = process.cpuUsage();
        redact(given);
        const { user, system } = process.cpuUsage(before);
        return (user + system) / 1_000;
      };
      const least = (length: number): number => {
        const given = text(length);
        return Math.min(...[1, 2, 3].map(() => cpuMs(given)));
      };
      // 16 times the text: 16 times the work, and never the 256 times of a quadratic one. What is below a millisecond
      // can't be compared.
      expect(least(16 * LENGTH)).toBeLessThan(80 * Math.max(1, least(LENGTH)));
    }
  });
});
