import { expect, test } from 'vitest';
import { OwnerIndex } from '../../../../bridge/requests/owner-index.ts';
import type { SeenRequest } from '../../../../bridge/requests/seen-requests.ts';
import { formatObjectKey } from '../../../../shared/model/object-key.ts';
import { standardKey } from '../../functions/objects.ts';

const request = (owner: string | undefined, id = 'r'): SeenRequest => ({
  group: 'n',
  id,
  uid: `uid-${id}`,
  owner,
  phase: 'Granted',
  granted: true,
  secret: undefined,
  deleting: false,
  finalizers: '',
});
const A = standardKey;
const B = { ...standardKey, uid: 'uid-9' };

test('an object is in it for as long as any request is its own', () => {
  const index = new OwnerIndex();
  const [first, second] = [request(formatObjectKey(A), '1'), request(formatObjectKey(A), '2')];
  index.apply({ kind: 'added', now: first });
  index.apply({ kind: 'added', now: second });
  index.apply({ kind: 'added', now: request(undefined, '3') });
  expect([...index.owners()]).toEqual([A]);
  index.apply({ kind: 'gone', before: first });
  expect(index.has(A)).toBe(true);
  index.apply({ kind: 'changed', before: second, now: { ...second, owner: formatObjectKey(B) } });
  expect([index.has(A), index.has(B)]).toEqual([false, true]);
  index.apply({ kind: 'gone', before: { ...second, owner: formatObjectKey(B) } });
  expect([...index.owners()]).toEqual([]);
});
