import { expect, test } from 'vitest';
import { refuseClearText } from '../../../../deploy/command/clear-text.ts';

test.each([
  'https://install.example.org',
  'http://install',
  'http://install.foo.svc',
  'http://install.foo.svc.cluster.local/',
  'http://127.0.0.1:8080',
  'http://[::1]:8080',
  'http://10.0.0.1',
])('a token may go to %s', (address) => {
  expect(() => refuseClearText(address, '--to')).not.toThrow();
});

test.each(['http://install.example.org', 'http://203.0.113.7:8080/', 'http://[2001:db8::1]'])(
  'but not to %s',
  (address) => {
    expect(() => refuseClearText(address, '--to')).toThrow(
      `--to ${address}: the token of --token-file would be sent in`,
    );
  },
);
