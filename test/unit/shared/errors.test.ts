import { describe, expect, test } from 'vitest';
import { cut, MAX_ERROR_LENGTH, messageOf } from '../../../shared/errors.ts';
import { ApiError } from '../../../shared/kube/api-error.ts';
import { redact } from '../../../shared/redact.ts';

describe('texts of errors are cut', () => {
  test('one that is short stays as it is', () => {
    expect(messageOf(new Error('refused'))).toBe('refused');
    expect(messageOf('x'.repeat(MAX_ERROR_LENGTH))).toHaveLength(MAX_ERROR_LENGTH);
  });

  test('one that quotes what a tenant wrote', () => {
    const error = new ApiError('PATCH x', 422, { message: `spec.foo: Invalid value: "${'long '.repeat(1_000_000)}"` });
    expect(error.message.length).toBeLessThanOrEqual(MAX_ERROR_LENGTH);
    expect(error.message).toMatch(/^PATCH x: 422 spec\.foo: Invalid value: "long .*long \[…\]$/);
  });

  test('between two words: what was half a credential would look like none', () => {
    for (let before = MAX_ERROR_LENGTH - 60; before < MAX_ERROR_LENGTH; before++) {
      const text = redact(cut(`${'x'.repeat(before)} eyJ${'a'.repeat(20)}.${'b'.repeat(20)}.${'c'.repeat(20)} end`));
      expect(text).not.toMatch(/eyJ|aaa|bbb|ccc/);
    }
    expect(cut('x'.repeat(5_000))).toBe(' […]');
  });

  test('what a server says that is no text', () => {
    expect(new ApiError('GET x', 500, { message: { a: 1 } as unknown as string }).message).toBe(
      'GET x: 500 no explanation',
    );
  });
});
