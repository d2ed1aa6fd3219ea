import { describe, expect, test } from 'vitest';
import { invoke } from '../../../../functions/step/invoke.ts';
import { resolveCredentials } from '../../../../functions/resolve-credentials/handler.ts';
import type { HttpKubeClient } from '../../../../shared/kube/client.ts';
import { done } from '../../../../shared/events/outcome.ts';
import { deleting, serviceObject } from '../objects.ts';
import { answer, Home, runWith } from '../step/home.ts';

describe('our finalizer on an object', () => {
  const platform = { get: () => Promise.reject(new Error('access is not looked at in this test')) };
  const without = () => serviceObject([], { finalizers: [] });

  test('of one that is being deleted meanwhile ends the pass without an error', async () => {
    const home = new Home(without());
    home.refusals.push(answer(422, 'Invalid'));
    home.onPatch = () => (home.object = serviceObject([], { ...deleting, finalizers: ['other/one'] }));
    expect(
      await invoke(resolveCredentials, runWith(home, { platform: platform as unknown as HttpKubeClient })),
    ).toEqual(done());
  });

  test('a flow that ends in silence: a living object that takes no finalizer says why', async () => {
    const home = new Home(without());
    home.refusals.push(answer(422, 'Invalid'));
    expect(
      await invoke(resolveCredentials, runWith(home, { platform: platform as unknown as HttpKubeClient })),
    ).toMatchObject({ kind: 'failed', permanent: false });
    expect(home.ready).toMatchObject({ status: 'False', message: expect.stringContaining('422') as string });
  });
});
