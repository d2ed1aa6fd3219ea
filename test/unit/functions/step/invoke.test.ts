import { describe, expect, test, vi } from 'vitest';
import { invoke } from '../../../../functions/step/invoke.ts';
import type { Run, Step } from '../../../../functions/step/run.ts';
import { PermanentError } from '../../../../shared/errors.ts';
import { done } from '../../../../shared/events/outcome.ts';
import { reportProgressing } from '../../../../shared/status.ts';
import { condition, kcpKey, serviceObject } from '../objects.ts';
import { answer, conflict, Home, runWith, throws } from './home.ts';

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

test('a server that wants to be left alone for a while is, as the outcome says', async () => {
  const home = new Home();
  home.readFailure = answer(429, 'TooManyRequests').after(60_000);
  expect(await invoke(vi.fn<Step>(), runWith(home))).toMatchObject({ kind: 'failed', notBeforeMs: 60_000 });
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
    const config = {
      state: 'ok',
      config: {},
      runtime: { pollIntervalMs: undefined, kcp: undefined },
      generation: 7,
    } as const;
    const outcome = await invoke(throws(error), runWith(home, { config }));
    expect(outcome).toMatchObject({ kind: 'failed', permanent: true, of: '1/7' });
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
