import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  MANAGED_BY_LABEL,
  MANAGED_PURPOSE_LABEL,
  managedLabels,
  mcpNamespace,
  nameUuid,
  requestName,
  shortenName,
  workspaceNamespace,
} from '../../../shared/names.ts';

/** One line of what `names/vectors.go` printed with the Go libraries. */
interface Vector {
  controller: string;
  namespace: string;
  name: string;
  mcpNamespace: string;
  requests: Record<string, string>;
  managedBy: string;
  purposes: Record<string, string>;
}

const VECTORS = readFileSync(join(import.meta.dirname, 'names/vectors.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Vector);

describe('names are those of the Go libraries, byte for byte', () => {
  test('the vectors are there', () => {
    expect(VECTORS.length).toBeGreaterThanOrEqual(250);
  });

  test.each(VECTORS)('$controller $namespace/$name', (vector) => {
    const { controller, namespace, name } = vector;
    const purposes = Object.keys(vector.purposes).map((id) => {
      const labels = managedLabels(controller, { namespace, name }, id);
      expect(labels[MANAGED_BY_LABEL]).toBe(vector.managedBy);
      return [id, labels[MANAGED_PURPOSE_LABEL]];
    });
    expect(Object.fromEntries(purposes)).toEqual(vector.purposes);
    const requests = Object.keys(vector.requests).map((suffix) => [suffix, requestName(controller, name, suffix)]);
    expect(Object.fromEntries(requests)).toEqual(vector.requests);
    expect(mcpNamespace(name, namespace)).toBe(vector.mcpNamespace);
  });
});

describe('names of our own', () => {
  test('a workspace has one namespace for each provider', () => {
    const namespace = workspaceNamespace('foo', '2hj3kx');
    expect(namespace).toMatch(/^kcp--[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(workspaceNamespace('foo', '2hj3kx')).toBe(namespace);
    expect(workspaceNamespace('bar', '2hj3kx')).not.toBe(namespace);
  });

  test('different long names stay different', () => {
    const [a, b] = ['a', 'b'].map((end) => shortenName('x'.repeat(80) + end));
    expect(a).toHaveLength(63);
    expect(b).not.toBe(a);
  });

  test('a length without room for the hash is refused', () => {
    expect(() => shortenName('x'.repeat(80), 10)).toThrow(RangeError);
  });

  test('nothing has no uuid', () => {
    expect(() => nameUuid('', '')).toThrow(RangeError);
  });
});
