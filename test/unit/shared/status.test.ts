import { describe, expect, test } from 'vitest';
import type { ServiceObjectStatus } from '../../../shared/model/kubernetes.ts';
import {
  conditionOf,
  hasCondition,
  isDeleting,
  reportNotReady,
  reportProgressing,
  reportReady,
  reportTerminating,
  type StatusReport,
  statusPatch as patchForTenants,
} from '../../../shared/status.ts';
import { forTenants } from '../../../functions/step/decide-tenant-view.ts';
import { condition, deleting, serviceObject, ownCondition as own } from '../functions/objects.ts';

const NOW = new Date('2026-05-05T05:05:05.678Z');
const LATER = new Date('2026-06-06T06:06:06.678Z');
const VIEW = {
  uid: 'uid-1',
  internal: { servers: new Map(), namespaces: new Set<string>() },
  secrets: new Set<string>(),
};
const statusPatch = (object: ReturnType<typeof serviceObject>, report: StatusReport, now: Date) =>
  patchForTenants(object, forTenants(report, VIEW).report, now);
const withStatus = (status: ServiceObjectStatus, generation = 1) => ({ ...serviceObject([], { generation }), status });

/** What the API server makes of it, so that a report can be brought onto its own result. */
function applied(
  object: ReturnType<typeof serviceObject>,
  report: StatusReport,
  now = NOW,
): ReturnType<typeof withStatus> {
  const patch = statusPatch(object, report, now) as { status: ServiceObjectStatus } | undefined;
  return { ...object, status: merge(object.status ?? {}, patch?.status ?? {}) as ServiceObjectStatus };
}

/** RFC 7396. */
function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return JSON.parse(JSON.stringify(patch));
  const result: Record<string, unknown> = typeof target === 'object' && !Array.isArray(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch))
    if (value === null) delete result[name];
    else result[name] = merge(result[name], value);
  return result;
}

describe('the patch that brings a report onto an object', () => {
  test('a new object gets everything, guarded by the version that was read', () => {
    expect(statusPatch(serviceObject([], { generation: 4 }), reportReady(), NOW)).toEqual({
      metadata: { resourceVersion: '7' },
      status: {
        phase: 'Ready',
        observedGeneration: 4,
        conditions: [
          {
            type: 'Ready',
            status: 'True',
            reason: 'ReconcileSuccess',
            message: 'Domain Service is ready',
            observedGeneration: 4,
            lastTransitionTime: '2026-05-05T05:05:05Z',
          },
        ],
      },
    });
  });

  test('is none when all of it is there already', () => {
    const report = { ...reportReady(), fields: { url: 'x', parts: [{ a: 1 }], gone: undefined } };
    const settled = applied(serviceObject(), report);
    expect(settled.status).toMatchObject({ url: 'x', phase: 'Ready' });
    expect(statusPatch(settled, report, LATER)).toBeUndefined();
  });

  test('phase and observedGeneration are in every patch, since the Go type requires both', () => {
    const settled = applied(serviceObject(), reportReady());
    expect(statusPatch(settled, { ...reportReady(), fields: { url: 'x' } }, NOW)).toEqual({
      metadata: { resourceVersion: '7' },
      status: { url: 'x', phase: 'Ready', observedGeneration: 1 },
    });
  });

  test('a newer generation alone is written', () => {
    const settled = applied(serviceObject(), reportReady());
    const newer = { ...settled, metadata: { ...settled.metadata, generation: 2 } };
    expect(applied(newer, reportReady(), LATER).status).toMatchObject({
      observedGeneration: 2,
      conditions: [{ observedGeneration: 2, lastTransitionTime: '2026-05-05T05:05:05Z' }],
    });
  });
});

describe('conditions', () => {
  test('times move only when a status flips', () => {
    const progressing = applied(serviceObject(), reportProgressing('First', 'a'));
    const still = applied(progressing, reportProgressing('Second', 'b'), LATER);
    expect(still.status.conditions?.[0]).toMatchObject({
      reason: 'Second',
      message: 'b',
      lastTransitionTime: '2026-05-05T05:05:05Z',
    });
    const ready = applied(still, reportReady(), LATER);
    expect(ready.status.conditions?.[0]).toMatchObject({ status: 'True', lastTransitionTime: '2026-06-06T06:06:06Z' });
  });

  test('those of others stay, in their places', () => {
    const foreign = condition('Quota', 'True', 'Free', 'theirs');
    const object = withStatus({ conditions: [foreign, condition('Ready', 'False', 'X')] });
    const { conditions } = applied(object, {
      ...reportReady(),
      conditions: [...reportReady().conditions, own()],
    }).status;
    expect(conditions?.map(({ type }) => type)).toEqual(['Quota', 'Ready', 'Backup']);
    expect(conditions?.[0]).toEqual(foreign);
  });

  test.each(['A', 'CamelCase', 'With_1:two,three'])('the reason %s is kept', (reason) => {
    expect(applied(serviceObject(), reportProgressing(reason, 'm')).status.conditions?.[0]?.reason).toBe(reason);
  });

  test('a long message is cut, and then equal to what the server has stored', () => {
    const report = reportProgressing('X', `${'a '.repeat(2_020)}${'😀 '.repeat(20)}`);
    const settled = applied(serviceObject(), report);
    expect(settled.status.conditions?.[0]?.message.length).toBeLessThanOrEqual(4_096);
    expect(settled.status.conditions?.[0]?.message.isWellFormed()).toBe(true);
    expect(statusPatch(settled, report, NOW)).toBeUndefined();
  });
});

describe("fields of the provider's own", () => {
  const report = (fields: Record<string, unknown>): StatusReport => ({ ...reportReady(), fields });

  test('are set, changed and removed; those that are not named stay', () => {
    const before = applied(serviceObject(), report({ url: 'x', size: 1, kept: true }));
    const after = applied(before, report({ url: 'y', size: undefined }));
    expect(after.status).toMatchObject({ url: 'y', kept: true });
    expect(after.status).not.toHaveProperty('size');
  });

  test('a field that never goes away: what a nested value lacks is removed, and the object settles', () => {
    const before = applied(serviceObject(), report({ endpoint: { host: 'h', port: 1 }, list: [{ a: 1 }, { b: 2 }] }));
    const now = report({ endpoint: { host: 'h' }, list: [{ a: 1 }] });
    const after = applied(before, now);
    expect(after.status['endpoint']).toEqual({ host: 'h' });
    expect(after.status['list']).toEqual([{ a: 1 }]);
    expect(statusPatch(after, now, LATER)).toBeUndefined();
  });

  test.each([
    ['null', { a: null }],
    ['null inside', { a: { b: null, c: 1 } }],
    ['a date', { a: new Date(0) }],
    ['an empty object', { a: {} }],
    ['undefined inside', { a: { b: undefined } }],
  ])('a value that is stored otherwise than it was given is not written again and again: %s', (_what, fields) => {
    const settled = applied(serviceObject(), report(fields));
    expect(statusPatch(settled, report(fields), LATER)).toBeUndefined();
  });
});

describe('small questions', () => {
  test('a report for an object that is being deleted is Terminating', () => {
    expect(reportNotReady(serviceObject(), 'R', 'm')).toEqual(reportProgressing('R', 'm'));
    expect(reportNotReady(serviceObject([], deleting), 'R', 'm')).toEqual(reportTerminating('R', 'm'));
  });

  test('a condition is found by its type, and holds only when it is True', () => {
    const object = serviceObject([condition('Ready', 'Unknown', 'X'), condition('Uninstalled', 'True', 'Y')]);
    expect(conditionOf(object, 'Ready')?.status).toBe('Unknown');
    expect(conditionOf(object, 'Other')).toBeUndefined();
    expect(hasCondition(object, 'Ready')).toBe(false);
    expect(hasCondition(object, 'Uninstalled')).toBe(true);
    expect(hasCondition(serviceObject(), 'Ready')).toBe(false);
  });

  test('an object is being deleted once it has a time for that', () => {
    expect(isDeleting(serviceObject())).toBe(false);
    expect(isDeleting(serviceObject([], deleting))).toBe(true);
  });
});
