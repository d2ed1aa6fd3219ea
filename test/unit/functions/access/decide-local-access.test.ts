import { expect, test } from 'vitest';
import { LOCAL_ACCESS_ANNOTATION, localAddresses } from '../../../../functions/access/decide-local-access.ts';

const LOCAL = 'https://127.0.0.1:42827';
const ENDPOINTS = [
  { name: 'apiserver-external', url: 'https://mcp.example.org' },
  { name: 'apiserver-internal', url: 'https://10.0.0.7:6443' },
];
const annotated = { [LOCAL_ACCESS_ANNOTATION]: LOCAL };

test('the annotation is the address of client and kubeconfig', () => {
  expect(localAddresses(annotated, ENDPOINTS, false)).toEqual({ client: LOCAL, embedded: LOCAL });
});

test('what runs on another cluster gets the internal address', () => {
  expect(localAddresses(annotated, ENDPOINTS, true)).toEqual({ client: LOCAL, embedded: 'https://10.0.0.7:6443' });
  expect(localAddresses(annotated, [], true)).toEqual({ client: LOCAL, embedded: undefined });
});

test.each([undefined, {}, { [LOCAL_ACCESS_ANNOTATION]: '' }, { [LOCAL_ACCESS_ANNOTATION]: 'http://insecure' }])(
  'without an address nothing is replaced: %o',
  (annotations) => {
    expect(localAddresses(annotations, ENDPOINTS, false)).toBeUndefined();
  },
);
