import { describe, expect, test } from 'vitest';
import type { Verdict } from '../../../../functions/step/verdict.ts';
import {
  decideAfterAccess,
  handedOver,
  reject,
  skipDelete,
  waitForConfig,
  waitForEarlier,
} from '../../../../functions/resolve-credentials/decide.ts';
import { DELETE_REQUESTED, INSTALL_REQUESTED, TEARDOWN_REQUESTED } from '../../../../shared/events/catalogue.ts';
import { reportUninstalled } from '../../../../shared/status.ts';
import { deleting, serviceObject } from '../objects.ts';

const granted: Verdict = { state: 'granted', secret: { name: 's', namespace: 'n', key: 'kubeconfig' } };
const waiting: Verdict = { state: 'waiting', reason: 'WaitingForAccessRequest', message: 'Waiting for n/a' };
const refused: Verdict = { state: 'refused', reason: 'AccessDenied', message: 'n/a was denied' };
const terminating: Verdict = { state: 'terminating', message: 'n/a is being removed' };
const living = serviceObject();
const dying = serviceObject([], deleting);

describe('what follows from the access that there is', () => {
  test('all granted: installed, or deleted; nothing is written', () => {
    const access = { mcp: granted, workload: granted };
    expect(decideAfterAccess(living, access)).toEqual({ outcome: { kind: 'done', next: [INSTALL_REQUESTED] } });
    expect(decideAfterAccess(dying, access)).toEqual({ outcome: { kind: 'done', next: [DELETE_REQUESTED] } });
    expect(decideAfterAccess(living, { mcp: granted, workload: undefined })).toEqual({
      outcome: { kind: 'done', next: [INSTALL_REQUESTED] },
    });
  });

  test('a workspace that is gone: the provider still removes what is elsewhere', () => {
    const access = { mcp: { state: 'gone', message: 'going' } as const, workload: granted };
    expect(decideAfterAccess(dying, access)).toEqual({ outcome: { kind: 'done', next: [DELETE_REQUESTED] } });
  });

  test('something open: the object says what it waits for, with the phase of its life', () => {
    expect(decideAfterAccess(living, { mcp: granted, workload: waiting })).toEqual({
      status: {
        phase: 'Progressing',
        conditions: [{ type: 'Ready', status: 'False', reason: 'WaitingForAccessRequest', message: 'Waiting for n/a' }],
      },
      outcome: { kind: 'waiting', for: 'Waiting for n/a' },
    });
    expect(decideAfterAccess(dying, { mcp: waiting, workload: undefined }).status?.phase).toBe('Terminating');
  });

  test('a refusal is shown before something that will pass', () => {
    expect(decideAfterAccess(living, { mcp: waiting, workload: refused }).status?.conditions[0]).toMatchObject({
      reason: 'AccessDenied',
      message: 'n/a was denied',
    });
  });

  test('what nobody announces is looked at again soon', () => {
    expect(decideAfterAccess(living, { mcp: { ...waiting, retryAfterMs: 700 }, workload: undefined }).outcome).toEqual({
      kind: 'again',
      afterMs: 700,
      reason: 'WaitingForAccessRequest',
    });
  });

  test('access that goes under a living object never uninstalls it', () => {
    const { status, outcome } = decideAfterAccess(living, { mcp: terminating, workload: granted });
    expect(outcome).toEqual({ kind: 'waiting', for: 'n/a is being removed' });
    expect(status).toBeUndefined();
  });
});

describe('other ends of the first step', () => {
  test('a deletion that another runtime had begun goes on with the teardown', () => {
    const { status, outcome } = handedOver();
    expect(outcome).toEqual({ kind: 'done', next: [TEARDOWN_REQUESTED] });
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Uninstalled', status: 'True', reason: 'HandedOver' }),
    );
  });

  test('what an object that is gone left behind goes first', () => {
    const { status, outcome } = waitForEarlier({ namespace: 'default', name: 'first' });
    expect(outcome).toMatchObject({ kind: 'again' });
    expect(status?.conditions[0]).toMatchObject({
      reason: 'WaitingForEarlierObject',
      message: expect.stringContaining('default/first') as string,
    });
  });

  test('without a ProviderConfig the object says so, and waits', () => {
    const config = {
      state: 'unusable',
      reason: 'ProviderConfigNotFound',
      message: 'No ProviderConfig named db',
    } as const;
    expect(waitForConfig(living, config)).toEqual({
      status: {
        phase: 'Progressing',
        conditions: [{ type: 'Ready', status: 'False', reason: 'ProviderConfigNotFound', message: config.message }],
      },
      outcome: { kind: 'waiting', for: 'ProviderConfig' },
    });
    expect(waitForConfig(dying, config).status?.phase).toBe('Terminating');
  });

  test('the second of a workspace is rejected and told who is served', () => {
    const { status, outcome } = reject({ namespace: 'default', name: 'first' });
    expect(outcome).toMatchObject({ kind: 'waiting' });
    expect(status?.conditions).toEqual([
      {
        type: 'Ready',
        status: 'False',
        reason: 'Rejected',
        message: expect.stringContaining('default/first is older') as string,
      },
    ]);
  });

  test('what was never installed is torn down without a call to the provider', () => {
    const { status, outcome } = skipDelete();
    expect(outcome).toEqual({ kind: 'done', next: [TEARDOWN_REQUESTED] });
    expect(status).toMatchObject({ phase: 'Terminating' });
    expect(status?.conditions.map(({ type, status }) => [type, status])).toEqual([
      ['Ready', 'False'],
      ['Uninstalled', 'True'],
    ]);
  });

  test('the mark that all is gone names its reason', () => {
    expect(reportUninstalled('HandedOver', 'because').conditions[1]).toEqual({
      type: 'Uninstalled',
      status: 'True',
      reason: 'HandedOver',
      message: 'because',
    });
  });
});
