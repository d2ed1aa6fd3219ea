import { expect, test } from 'vitest';
import { absentClient } from '../../../../shared/kube/absent-client.ts';
import { isGone } from '../../../../shared/kube/api-error.ts';
import { CONFIG_MAPS, CRDS } from '../../../../shared/kube/resources.ts';
import { blockDeletion } from '../../../../shared/provider/block-deletion.ts';

const client = absentClient('the end user cluster');

test('says of everything that it is not there', async () => {
  expect(await client.get(CRDS, 'x')).toBeUndefined();
  expect((await client.list(CONFIG_MAPS)).items).toEqual([]);
  for await (const { items } of client.pages(CONFIG_MAPS)) expect(items).toEqual([]);
  for await (const event of client.watch(CONFIG_MAPS, { signal: AbortSignal.abort() })) expect(event).toBeUndefined();
  expect(await client.delete(CONFIG_MAPS, 'x', { namespace: 'y' })).toBe(false);
});

test('refuses to make anything, and a patch is of what is gone', async () => {
  const object = { metadata: { name: 'x', namespace: 'y' } };
  for (const made of [client.create(CONFIG_MAPS, object), client.apply(CONFIG_MAPS, object), client.post('/x', {})])
    await expect(made).rejects.toThrow('the end user cluster is gone: nothing can be made there');
  expect(isGone(await client.mergePatch(CONFIG_MAPS, 'x', {}).catch((error: unknown) => error), 'x')).toBe(true);
});

test('nothing of a tenant blocks a deletion there', async () => {
  const said: unknown[] = [];
  const status = { condition: (condition: object) => void said.push(condition), progressing: () => undefined };
  expect(await blockDeletion({ mcp: { client }, status } as never, { kinds: [CONFIG_MAPS] })).toBeUndefined();
  expect(said).toMatchObject([{ type: 'DeletionBlocked', status: 'False' }]);
});
