import { expect, test } from 'vitest';
import { keepSecret, redact } from '../../../shared/redact.ts';

test('a credential that does not look like one is removed from every text once it is known', () => {
  const text = 'calling with 7f3a9c-opaque-token';
  expect(redact(text)).toBe(text);
  keepSecret('7f3a9c-opaque-token');
  expect(redact(text)).toBe('calling with [redacted]');
});

test('one that is short enough to be part of any word is not kept', () => {
  keepSecret('calling');
  expect(redact('calling')).toBe('calling');
});

test('only the newest are kept, so that a long-lived process does not get slow', () => {
  keepSecret('the-oldest-of-them-all');
  for (let count = 0; count < 1_000; count++) keepSecret(`opaque-secret-number-${count}.`);
  expect(redact('the-oldest-of-them-all')).toBe('the-oldest-of-them-all');
  expect(redact('opaque-secret-number-999.')).toBe('[redacted]');
});
