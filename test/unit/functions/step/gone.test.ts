import { expect, test } from 'vitest';
import foo from '../../../../functions/providers/foo/provider.ts';
import { tenantNamespace } from '../../../../functions/requests/desired.ts';
import { marksPort } from '../../../../functions/requests/marks.ts';
import { release } from '../../../../functions/requests/requests.ts';
import { letGo } from '../../../../functions/step/let-go.ts';
import type { Run } from '../../../../functions/step/run.ts';
import { ApiError, type ApiStatus } from '../../../../shared/kube/api-error.ts';
import type { HttpKubeClient } from '../../../../shared/kube/client.ts';
import { ACCESS_REQUESTS } from '../../../../shared/kube/resources.ts';
import { kcpKey } from '../objects.ts';

const { name } = kcpKey;
const refusing = (status: ApiStatus) =>
  ({ mergePatch: () => Promise.reject(new ApiError('PATCH x', 404, status)) }) as unknown as HttpKubeClient;

const request = { metadata: { name, namespace: 'x', resourceVersion: '1', finalizers: [] } };
const object = {
  apiVersion: 'x/v1',
  kind: 'Foo',
  metadata: { name, uid: 'u', resourceVersion: '1', finalizers: [foo.finalizer] },
};
const steps: [string, (client: HttpKubeClient) => Promise<unknown>][] = [
  ['the finalizer of an object', (home) => letGo({ key: kcpKey, provider: foo, home } as unknown as Run, object)],
  ['the finalizer of a request', (platform) => release(platform, ACCESS_REQUESTS, request)],
];

test.each(steps)('%s: what does not exist any more needs no more work', async (_what, act) => {
  const gone = act(refusing({ reason: 'NotFound', details: { name } }));
  expect([undefined, true]).toContain(await gone);
});

test.each(steps)('%s: a type or workspace that is not served tells nothing', async (_what, act) => {
  for (const answer of [{}, { reason: 'NotFound' }, { reason: 'NotFound', details: { name: 'another' } }])
    await expect(act(refusing(answer))).rejects.toThrow('404');
});

test('marks: what holds them is gone, or can not be told', async () => {
  const write = (status: ApiStatus) => marksPort(refusing(status), kcpKey, foo).write({}, undefined);
  await expect(write({ reason: 'NotFound', details: { name: tenantNamespace(kcpKey) } })).resolves.toBeUndefined();
  await expect(write({ reason: 'NotFound' })).rejects.toThrow('404');
});
