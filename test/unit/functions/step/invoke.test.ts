import { pino } from 'pino';
import { describe, expect, test, vi } from 'vitest';
import { invoke } from '../../../../functions/step/invoke.ts';
import { providerInstall } from '../../../../functions/provider-install/handler.ts';
import { resolveCredentials } from '../../../../functions/resolve-credentials/handler.ts';
import type { Run, Step } from '../../../../functions/step/run.ts';
import { PermanentError } from '../../../../shared/errors.ts';
import { ApiError } from '../../../../shared/kube/api-error.ts';
import type { HttpKubeClient } from '../../../../shared/kube/client.ts';
import type { ServiceObject } from '../../../../shared/model/kubernetes.ts';
import { done } from '../../../../shared/events/outcome.ts';
import { reportProgressing } from '../../../../shared/status.ts';
import { condition, deleting, kcpKey, provider, serviceObject, standardKey } from '../objects.ts';

const answer = (status: number, reason: string, details?: { name: string }): ApiError =>
  new ApiError('GET x', status, { reason, message: reason, ...(details ? { details } : {}) });
const conflict = (): ApiError => answer(409, 'Conflict');

/** A cluster with one object. Each entry of `refusals` is thrown at the patch of that number. */
class Home {
  object: ServiceObject | undefined;
  readonly patches: { patch: Record<string, unknown>; subresource: string | undefined }[] = [];
  readonly refusals: (ApiError | undefined)[] = [];
  onPatch: () => void = () => undefined;
  readFailure: ApiError | undefined;

  constructor(object: ServiceObject | undefined = serviceObject()) {
    this.object = object;
  }

  async get(): Promise<ServiceObject | undefined> {
    if (this.readFailure) throw this.readFailure;
    return structuredClone(this.object);
  }

  async mergePatch(
    _type: unknown,
    _name: string,
    patch: object,
    options?: { subresource?: string },
  ): Promise<ServiceObject> {
    this.onPatch();
    const refusal = this.refusals.shift();
    if (refusal) throw refusal;
    const { status } = patch as Pick<ServiceObject, 'status'>;
    this.patches.push({ patch: patch as Record<string, unknown>, subresource: options?.subresource });
    const object = this.object as ServiceObject;
    this.object = { ...object, ...(status ? { status: { ...object.status, ...status } } : {}) };
    return structuredClone(this.object);
  }

  get ready() {
    return this.object?.status?.conditions?.find(({ type }) => type === 'Ready');
  }
}

function runWith(home: Home, more: Partial<Run> = {}): Run {
  return {
    key: standardKey,
    provider,
    home: home as unknown as HttpKubeClient,
    config: { state: 'ok', config: {}, runtime: { pollIntervalMs: undefined, kcp: undefined } },
    signal: new AbortController().signal,
    secrets: new Set(['known-secret']),
    log: pino({ level: 'silent' }),
    now: () => new Date('2026-05-05T05:05:05Z'),
    ...more,
  } as Run;
}

const throws =
  (error: Error): Step =>
  () =>
    Promise.reject(error);

describe('an object that is none of our business is left alone', () => {
  test.each([
    ['it is gone', undefined],
    ['it is another one of that name', serviceObject([], { uid: 'uid-2' })],
    ['it is to be ignored', serviceObject([], { annotations: { 'openmcp.cloud/operation': 'ignore' } })],
  ])('%s', async (_why, object) => {
    const home = new Home();
    home.object = object;
    const step = vi.fn<Step>();
    expect(await invoke(step, runWith(home))).toEqual(done());
    expect(step).not.toHaveBeenCalled();
    expect(home.patches).toEqual([]);
  });
});

describe('"cannot read" is not "deleted"', () => {
  const workspace = (bound: boolean) => ({ isBound: () => Promise.resolve(bound) }) as unknown as Run['workspace'];

  test.each([
    ['401', answer(401, 'Unauthorized')],
    ['403', answer(403, 'Forbidden')],
    ['404 of the whole type', answer(404, 'NotFound')],
    ['no answer', answer(0, 'NoAnswer')],
  ])('%s is a failure that is tried again', async (_what, error) => {
    const home = new Home();
    home.readFailure = error;
    expect(await invoke(vi.fn<Step>(), runWith(home))).toMatchObject({ kind: 'failed', permanent: false });
    expect(await invoke(vi.fn<Step>(), runWith(home, { key: kcpKey, workspace: workspace(true) }))).toMatchObject({
      kind: 'failed',
      permanent: false,
    });
  });

  test('only a list of bindings without the workspace says that there is nothing to do any more', async () => {
    const home = new Home();
    home.readFailure = answer(403, 'Forbidden');
    expect(await invoke(vi.fn<Step>(), runWith(home, { key: kcpKey, workspace: workspace(false) }))).toEqual(done());
    home.readFailure = answer(500, 'Boom');
    expect(await invoke(vi.fn<Step>(), runWith(home, { key: kcpKey, workspace: workspace(false) }))).toMatchObject({
      kind: 'failed',
    });
  });
});

describe('what goes wrong becomes a condition', () => {
  test('an error of the provider: ReconcileError, tried again', async () => {
    const home = new Home(serviceObject([condition('InstallStarted', 'True', 'AccessGranted')]));
    expect(await invoke(throws(new Error('broken')), runWith(home))).toEqual({
      kind: 'failed',
      message: 'broken',
      permanent: false,
    });
    expect(home.ready).toMatchObject({ status: 'False', reason: 'ReconcileError', message: 'broken' });
  });

  test('a permanent one keeps its reason, and is not tried again', async () => {
    const home = new Home(serviceObject([condition('InstallStarted', 'True', 'AccessGranted')]));
    const error = new PermanentError('no such version', { reason: 'VersionNotOffered' });
    expect(await invoke(throws(error), runWith(home))).toMatchObject({ kind: 'failed', permanent: true });
    expect(home.ready).toMatchObject({ reason: 'VersionNotOffered' });
  });

  test('before the provider was ever called the object does not count as started by that', async () => {
    const home = new Home();
    await invoke(throws(new Error('no route')), runWith(home));
    expect(home.object?.status?.conditions?.map(({ type, reason }) => [type, reason])).toEqual([
      ['Ready', 'AccessError'],
    ]);
  });

  test('credentials are in none of the texts', async () => {
    const home = new Home();
    const outcome = await invoke(throws(new Error('got known-secret and Bearer abcdefgh12345')), runWith(home));
    expect(JSON.stringify([outcome, home.patches])).not.toMatch(/known-secret|abcdefgh12345/);
    expect(home.ready?.message).toBe('got [redacted] and Bearer [redacted]');
  });

  test('a status that can not be written does not hide what went wrong', async () => {
    const home = new Home();
    home.refusals.push(answer(500, 'Boom'));
    expect(await invoke(throws(new Error('broken')), runWith(home))).toMatchObject({
      kind: 'failed',
      message: 'broken',
    });
  });

  test('a conflict is read and tried again, and no failure', async () => {
    const home = new Home();
    let attempts = 0;
    const step: Step = () => (++attempts < 3 ? Promise.reject(conflict()) : Promise.resolve({ outcome: done() }));
    expect(await invoke(step, runWith(home))).toEqual(done());
    expect(attempts).toBe(3);
    expect(await invoke(throws(conflict()), runWith(home))).toMatchObject({ kind: 'failed' });
  });

  test('a name that is taken is not tried again on the spot', async () => {
    const step = vi.fn<Step>(() => Promise.reject(answer(409, 'AlreadyExists')));
    expect(await invoke(step, runWith(new Home()))).toMatchObject({ kind: 'failed', permanent: false });
    expect(step).toHaveBeenCalledTimes(1);
  });
});

describe('an invocation that was told to stop', () => {
  test.each([
    ['ObjectDeleted', { kind: 'done', next: [] }],
    ['Shutdown', { kind: 'again', afterMs: 0, reason: 'Shutdown' }],
    ['LeaseLost', { kind: 'failed', message: 'stopped', permanent: false }],
  ])('%s: writes nothing', async (reason, outcome) => {
    const home = new Home();
    expect(await invoke(throws(new Error('stopped')), runWith(home, { signal: AbortSignal.abort(reason) }))).toEqual(
      outcome,
    );
    expect(home.patches).toEqual([]);
  });

  test('RunLimit: says so on the object', async () => {
    const home = new Home();
    const run = runWith(home, { signal: AbortSignal.abort('RunLimit') });
    expect(await invoke(throws(new Error('too long')), run)).toMatchObject({ kind: 'failed' });
    expect(home.ready?.message).toBe('too long');
  });
});

describe('the status', () => {
  const report: Step = () => Promise.resolve({ status: reportProgressing('Rolling', 'known-secret'), outcome: done() });

  test('is written to the subresource, without credentials, and only where it differs', async () => {
    const home = new Home(serviceObject([condition('InstallStarted', 'True', 'AccessGranted')]));
    await invoke(report, runWith(home));
    await invoke(report, runWith(home));
    expect(home.patches).toHaveLength(1);
    expect(home.patches[0]?.subresource).toBe('status');
    expect(home.ready?.message).toBe('[redacted]');
  });

  test('a conflict is read again; a newer generation is not claimed to be the one that was worked on', async () => {
    const home = new Home();
    home.refusals.push(conflict());
    home.onPatch = () => {
      home.object = serviceObject([], { generation: 2, resourceVersion: '8' });
    };
    await invoke(report, runWith(home));
    expect(home.patches).toEqual([
      {
        subresource: 'status',
        patch: {
          metadata: { resourceVersion: '8' },
          status: expect.objectContaining({ observedGeneration: 1 }) as object,
        },
      },
    ]);
  });

  test('of an object that is gone concerns nobody', async () => {
    const home = new Home();
    home.refusals.push(answer(404, 'NotFound', { name: 'shop' }));
    home.onPatch = () => (home.object = undefined);
    expect(await invoke(report, runWith(home))).toEqual(done());
  });

  test('an answer taken for another: a 404 while the object is there is a failure, and not its end', async () => {
    const home = new Home();
    home.refusals.push(...Array.from({ length: 5 }, () => answer(404, 'NotFound')));
    expect(await invoke(report, runWith(home))).toMatchObject({ kind: 'failed' });
  });
});

describe('the claim of an object', () => {
  const platform = { get: () => Promise.reject(new Error('access is not looked at in this test')) };
  const unclaimed = () => serviceObject([], { finalizers: [] });

  test('of one that is being deleted meanwhile ends the pass without an error', async () => {
    const home = new Home(unclaimed());
    home.refusals.push(answer(422, 'Invalid'));
    home.onPatch = () => (home.object = serviceObject([], { ...deleting, finalizers: ['other/one'] }));
    expect(
      await invoke(resolveCredentials, runWith(home, { platform: platform as unknown as HttpKubeClient })),
    ).toEqual(done());
  });

  test('a flow that ends in silence: a living object that takes no finalizer says why', async () => {
    const home = new Home(unclaimed());
    home.refusals.push(answer(422, 'Invalid'));
    expect(
      await invoke(resolveCredentials, runWith(home, { platform: platform as unknown as HttpKubeClient })),
    ).toMatchObject({ kind: 'failed', permanent: false });
    expect(home.ready).toMatchObject({ status: 'False', message: expect.stringContaining('422') as string });
  });
});

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
