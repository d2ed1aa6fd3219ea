import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { ReportCollector } from '../../../../functions/provider-call/report.ts';
import { untilStopped } from '../../../../functions/provider-call/until-stopped.ts';
import { reportReady } from '../../../../shared/status.ts';

const resources = (...given: object[]): void => new ReportCollector().resources(given as never);

describe('what a provider reports', () => {
  test('nothing at all: whatever the end of the call means', () => {
    expect(new ReportCollector().report(reportReady())).toEqual({ words: 'author', ...reportReady(), fields: {} });
  });

  test('progress wins over the end of the call, and the last word counts', () => {
    const collector = new ReportCollector();
    collector.ready();
    collector.progressing('Rolling', '1 of 3');
    expect(collector.report(reportReady())).toMatchObject({
      phase: 'Progressing',
      conditions: [{ type: 'Ready', status: 'False', reason: 'Rolling', message: '1 of 3' }],
    });
    collector.ready('all three');
    expect(collector.report(reportReady())).toMatchObject({
      phase: 'Ready',
      conditions: [{ type: 'Ready', status: 'True', reason: 'ReconcileSuccess', message: 'all three' }],
    });
  });

  test('conditions of its own, each once with its last value', () => {
    const collector = new ReportCollector();
    collector.condition({ type: 'Backup', status: 'False', reason: 'Late', message: '' });
    collector.condition({ type: 'Backup', status: 'True', reason: 'Done', message: '' });
    expect(collector.report(reportReady()).conditions.slice(1)).toEqual([
      { type: 'Backup', status: 'True', reason: 'Done', message: '' },
    ]);
  });

  test.each(['Ready', 'InstallStarted', 'Uninstalled'])('not the condition %s, which is the runtime’s', (type) => {
    const collector = new ReportCollector();
    expect(() => collector.condition({ type, status: 'True', reason: 'X', message: '' })).toThrow(type);
    expect(collector.report(reportReady()).conditions).toHaveLength(1);
  });

  test.each<[string, unknown, string]>([
    ['no type', { type: '', status: 'True', reason: 'X', message: '' }, 'condition: its type is empty'],
    [
      'a type of signs',
      { type: '?!', status: 'True', reason: 'X', message: '' },
      'condition ?!: its type has no letter',
    ],
    ['a boolean', { type: 'A', status: true, reason: 'X', message: '' }, 'condition A: status is true'],
    ['a status of its own', { type: 'A', status: 'Yes', reason: 'X', message: '' }, 'condition A: status is Yes'],
    ['no message', { type: 'A', status: 'True', reason: 'X' }, 'condition A: message is undefined'],
    ['no reason at all', { type: 'A', status: 'True', message: '' }, 'condition A: reason is undefined'],
    ['one that becomes the runtime’s', { type: 'Ready!', status: 'True', reason: 'X', message: '' }, 'Ready'],
  ])('a condition with %s is an error at the call, and spoils nothing else', (_what, condition, problem) => {
    const collector = new ReportCollector();
    collector.condition({ type: 'Good', status: 'True', reason: 'X', message: '' });
    expect(() => collector.condition(condition as never)).toThrow(problem);
    expect(collector.report(reportReady()).conditions.map(({ type }) => type)).toEqual(['Ready', 'Good']);
  });

  test.each<[string, () => unknown, string]>([
    ['no reason', () => new ReportCollector().progressing(undefined as never, 'm'), 'reason is undefined'],
    ['no text', () => new ReportCollector().progressing('A', 5 as never), 'message is 5'],
    ['no text when ready', () => new ReportCollector().ready(5 as never), 'message is 5'],
    [
      'a resource without a name',
      () => resources({ kind: 'A', phase: 'Ready' }),
      'status.resources[0].name is undefined',
    ],
    [
      'a resource without a kind',
      () => resources({ name: 'a', phase: 'Ready' }),
      'status.resources[0].kind is undefined',
    ],
    [
      'a resource with half a place',
      () => resources({ kind: 'A', name: 'a', namespace: null, phase: 'Ready' }),
      'status.resources[0].namespace is null',
    ],
  ])('%s is an error at the call', (_what, call, problem) => {
    expect(call).toThrow(problem);
  });

  test('fields of its own, gathered over the call', () => {
    const collector = new ReportCollector();
    collector.set({ url: 'a', size: 1 });
    collector.set({ url: undefined, resources: [] });
    expect(collector.report(reportReady()).fields).toEqual({ url: undefined, size: 1, resources: [] });
  });

  test.each(['phase', 'observedGeneration', 'conditions'])('not the field %s, which is the runtime’s', (name) => {
    expect(() => new ReportCollector().set({ [name]: 'x' })).toThrow(`status.${name}`);
  });

  test('during a deletion the object is never Ready, and what is still there is said', () => {
    const collector = new ReportCollector();
    expect(collector.terminatingReport().conditions[0]).toMatchObject({ status: 'False', reason: 'Terminating' });
    collector.ready();
    collector.set({ url: undefined });
    expect(collector.terminatingReport()).toMatchObject({
      phase: 'Terminating',
      conditions: [{ type: 'Ready', status: 'False', reason: 'Terminating' }],
      fields: { url: undefined },
    });
    collector.progressing('Draining', '2 left');
    collector.condition({ type: 'Backup', status: 'True', reason: 'Done', message: '' });
    expect(collector.terminatingReport()).toMatchObject({
      phase: 'Terminating',
      conditions: [{ type: 'Ready', status: 'False', reason: 'Draining', message: '2 left' }, { type: 'Backup' }],
    });
  });
});

describe('a call that is told to end', () => {
  const GRACE_MS = 40;
  const never = new Promise<never>(() => undefined);

  test('gives its answer, and leaves nothing behind on the signal', async () => {
    const { signal } = new AbortController();
    await expect(untilStopped({ signal }, Promise.resolve('answer'))).resolves.toBe('answer');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('gives its error', async () => {
    const { signal } = new AbortController();
    await expect(untilStopped({ signal }, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  });

  test('and does so in time is heard', async () => {
    const stop = new AbortController();
    const call = sleep(GRACE_MS / 2, 'partly');
    stop.abort('RunLimit');
    await expect(untilStopped({ signal: stop.signal }, call, 10 * GRACE_MS)).resolves.toBe('partly');
  });

  test.each(['during the call', 'before it'])('and does not, is left alone after a while: told %s', async (when) => {
    const stop = new AbortController();
    if (when === 'before it') stop.abort('LeaseLost');
    const started = performance.now();
    const ended = untilStopped({ signal: stop.signal }, never, GRACE_MS);
    stop.abort('LeaseLost');
    await expect(ended).rejects.toMatchObject({
      code: 'STALE_HOLDER',
      message: expect.stringContaining('LeaseLost') as string,
    });
    expect(performance.now() - started).toBeGreaterThanOrEqual(GRACE_MS - 2);
  });

  test('an error that comes after nobody waits any more ends no process', async () => {
    const unhandled = vi.fn<(error: unknown) => void>();
    process.on('unhandledRejection', unhandled);
    const stop = new AbortController();
    let fail: (error: Error) => void = () => undefined;
    const call = new Promise((_resolve, reject) => (fail = reject));
    const ended = untilStopped({ signal: stop.signal }, call, GRACE_MS);
    stop.abort('RunLimit');
    await expect(ended).rejects.toMatchObject({ code: 'STALE_HOLDER' });
    fail(new Error('too late'));
    await sleep(10);
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});
