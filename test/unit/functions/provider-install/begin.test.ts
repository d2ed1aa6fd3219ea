import { describe, expect, test, vi } from 'vitest';
import { invoke } from '../../../../functions/step/invoke.ts';
import { providerInstall } from '../../../../functions/provider-install/handler.ts';
import type { HttpKubeClient } from '../../../../shared/kube/client.ts';
import { done } from '../../../../shared/events/outcome.ts';
import { deleting, provider, serviceObject } from '../objects.ts';
import { answer, conflict, Home, runWith } from '../step/home.ts';

describe('an installation', () => {
  const granted = { phase: 'Granted', observedGeneration: 1, secretRef: { name: 's' } };
  /** A platform on which all access is granted. */
  function grantedRun(home: Home) {
    const createOrUpdate = vi.fn<typeof provider.createOrUpdate>(() => Promise.resolve());
    const platform = {
      get: (_type: unknown, name: string, namespace: string) =>
        Promise.resolve({
          metadata: {
            name,
            namespace,
            generation: 1,
            labels: {
              'openmcp.cloud/managed-by': 'db',
              'openmcp.cloud/managed-purpose': `project-a.shop.${name.endsWith('wl') ? 'workload' : 'mcp'}`,
              'openmcp.cloud/onboarding-name': 'shop',
              'openmcp.cloud/onboarding-namespace': 'project-a',
            },
            annotations: {
              'service-provider.open-control-plane.io/object': 'db|standard|onboarding|project-a|shop|uid-1',
              'service-provider.open-control-plane.io/installed': 'uid-1 1',
            },
            finalizers: ['clusters.openmcp.cloud/clusteraccess'],
          },
          spec: { token: {} },
          status: granted,
          data: {},
        }),
    };
    const run = runWith(home, {
      platform: platform as unknown as HttpKubeClient,
      provider: { ...provider, createOrUpdate },
    });
    return { run, createOrUpdate };
  }

  test('does not begin where its mark met an object that is being deleted by now', async () => {
    const home = new Home();
    home.refusals.push(conflict());
    home.onPatch = () => (home.object = serviceObject([], { ...deleting, resourceVersion: '8' }));
    const { run, createOrUpdate } = grantedRun(home);
    expect(await invoke(providerInstall, run)).toMatchObject({
      kind: 'done',
      next: [expect.stringContaining('object.changed')],
    });
    expect(createOrUpdate).not.toHaveBeenCalled();
  });

  test('does not begin where the object is gone by now: nobody would ever remove it', async () => {
    const home = new Home();
    home.refusals.push(answer(404, 'NotFound', { name: 'shop' }));
    home.onPatch = () => (home.object = undefined);
    const { run, createOrUpdate } = grantedRun(home);
    expect(await invoke(providerInstall, run)).toEqual(done());
    expect(createOrUpdate).not.toHaveBeenCalled();
  });

  test('a decision by what was read earlier: the mark is there before anything else, and the first failure counts as one of the installation', async () => {
    const home = new Home();
    const { run, createOrUpdate } = grantedRun(home);
    // The Secrets of this platform hold no kubeconfig, so it ends before the call; the mark is there by then.
    expect(await invoke(providerInstall, run)).toMatchObject({ kind: 'failed' });
    expect(createOrUpdate).not.toHaveBeenCalled();
    expect(home.ready?.reason).toBe('ReconcileError');
    expect(home.object?.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'InstallStarted', status: 'True' }),
    );
  });
});
