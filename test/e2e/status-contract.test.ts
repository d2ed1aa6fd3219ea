import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import type { ResourceType, ServiceObject } from '../../shared/model/kubernetes.ts';
import { conditionOf } from '../../shared/status.ts';
import { install, probe } from '../support/probe.ts';
import { writeProviderConfig } from '../support/service.ts';
import { createStage, PROJECT, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

const ORDERS: ResourceType = {
  group: 'telling.services.open-control-plane.io',
  version: 'v1alpha1',
  kind: 'Probe',
  plural: 'probes',
  namespaced: true,
};

const telling = probe('telling', {
  async createOrUpdate(ctx, object) {
    const { foo = '' } = object.spec;
    if (foo === 'broken') throw new Error('the chart could not be found');
    if (foo === 'wrong-phase')
      ctx.status.resources([{ kind: 'ConfigMap', name: 'x', phase: 'Done' as unknown as 'Ready' }]);
    await install(ctx.mcp.client, object);
    ctx.status.condition({
      type: 'Synced',
      status: foo === 'unsynced' ? 'False' : 'True',
      reason: 'Checked',
      message: `as ${foo}`,
    });
    if (foo === 'odd')
      for (const type of ['Is synced?', 'Is_synced', 'T'.repeat(400)])
        ctx.status.condition({ type, status: 'True', reason: 'as it is', message: type });
    ctx.status.set({ note: foo, other: foo === 'two' ? 'here' : undefined });
    ctx.status.resources(
      (['Pending', 'Progressing', 'Ready', 'Failed', 'Terminating', 'Unknown'] as const).map((phase) => ({
        kind: 'ConfigMap',
        namespace: 'default',
        name: phase.toLowerCase(),
        phase,
        message: `is ${phase}`,
      })),
    );
  },
});

let stage: Stage;
let onboarding: HttpKubeClient;

beforeAll(async () => {
  stage = await createStage({ provider: telling.provider });
  onboarding = stage.landscape.onboarding.client;
  await stage.run();
});

afterAll(() => stage?.stop());

async function controlPlane(name: string): Promise<HttpKubeClient> {
  return (await stage.landscape.createControlPlane(PROJECT, name)).client;
}

const writeStatus = (name: string, status: object) =>
  onboarding.mergePatch<ServiceObject>(ORDERS, name, { status }, { namespace: PROJECT, subresource: 'status' });
const timeOf = (object: ServiceObject | undefined, type: string) =>
  object && conditionOf(object, type)?.lastTransitionTime;
/** Condition times count in seconds: whatever is set from now on differs from what was set before. */
const nextSecond = () => {
  const now = Math.floor(Date.now() / 1000);
  return eventually('a second is over', () => Math.floor(Date.now() / 1000) > now);
};

describe('the status of an object', () => {
  beforeAll(async () => {
    await controlPlane('told');
    await stage.orders.create('told', 'one');
    await stage.orders.untilReady('told');
  });

  test('has the conditions and reasons of the Go runtime, and what the provider says', async () => {
    const object = await stage.orders.untilReady('told');
    expect(object.status).toMatchObject({ phase: 'Ready', observedGeneration: 1, note: 'one' });
    expect(conditionOf(object, 'Ready')).toMatchObject({
      status: 'True',
      reason: 'ReconcileSuccess',
      message: 'Domain Service is ready',
      observedGeneration: 1,
    });
    expect(conditionOf(object, 'Synced')).toMatchObject({ status: 'True', reason: 'Checked', message: 'as one' });
    const resources = ['Pending', 'Progressing', 'Ready', 'Failed', 'Terminating', 'Unknown'].map((phase) => ({
      phase,
    }));
    expect(object.status).toMatchObject({ resources });
  });

  test('keeps what others wrote, and times that did not flip', async () => {
    const foreign = {
      type: 'Audited',
      status: 'True',
      reason: 'ByHand',
      message: '',
      lastTransitionTime: '2020-01-01T00:00:00Z',
    };
    const before = await stage.orders.untilReady('told');
    await writeStatus('told', { conditions: [...(before.status?.conditions ?? []), foreign] });
    await nextSecond();
    await stage.orders.change('told', 'two');
    const after = await stage.orders.untilReady('told');
    expect(conditionOf(after, 'Audited')).toEqual(foreign);
    expect(after.status).toMatchObject({ observedGeneration: 2, note: 'two', other: 'here' });
    expect(conditionOf(after, 'Synced')).toMatchObject({ message: 'as two', observedGeneration: 2 });
    for (const type of ['Ready', 'Synced']) expect(timeOf(after, type)).toBe(timeOf(before, type));

    await nextSecond();
    await stage.orders.change('told', 'unsynced');
    const flipped = await stage.orders.untilReady('told');
    expect(conditionOf(flipped, 'Synced')?.status).toBe('False');
    expect(timeOf(flipped, 'Synced')).not.toBe(timeOf(before, 'Synced'));
    expect(timeOf(flipped, 'Ready')).toBe(timeOf(before, 'Ready'));
    // Removed by the provider, and only that.
    expect(flipped.status).not.toHaveProperty('other');
    expect(conditionOf(flipped, 'Audited')).toEqual(foreign);
  });

  test('says what went wrong, is tried again, and then forgets it', async () => {
    await stage.orders.change('told', 'broken');
    const object = await stage.orders.untilReason('told', 'ReconcileError');
    expect(object.status).toMatchObject({ phase: 'Progressing', observedGeneration: object.metadata.generation });
    expect(conditionOf(object, 'Ready')).toMatchObject({ status: 'False', message: 'the chart could not be found' });
    const tries = telling.installs('told');
    await eventually('it is tried again', () => telling.installs('told') >= tries + 2);
    await stage.orders.change('told', 'one');
    await stage.orders.untilReady('told');
  });

  test('never has a phase of a resource that the guide does not know', async () => {
    await stage.orders.change('told', 'wrong-phase');
    const object = await stage.orders.untilReason('told', 'ReconcileError');
    expect(conditionOf(object, 'Ready')?.message).toContain('ConfigMap x has the phase Done; choose one of Pending');
    await stage.orders.change('told', 'one');
    await stage.orders.untilReady('told');
  });

  test('has all that is said although a server would refuse some of it, and all the rest with it', async () => {
    await stage.orders.change('told', 'odd');
    const object = await stage.orders.untilReady('told');
    expect(object.status).toMatchObject({ observedGeneration: object.metadata.generation, note: 'odd' });
    expect(conditionOf(object, 'Synced')).toMatchObject({ message: 'as odd' });
    expect(conditionOf(object, 'Is_synced')).toMatchObject({ reason: 'as_it_is', message: 'Is_synced' });
    expect(object.status?.conditions?.filter(({ type }) => type.startsWith('TTT'))).toHaveLength(1);
    await stage.orders.change('told', 'one');
    await stage.orders.untilReady('told');
  });

  test('does not change while the object is polled and all is well', async () => {
    await writeProviderConfig(stage.landscape, telling.provider, { config: { pollInterval: '300ms' } });
    const installs = () => telling.installs('told');
    const start = installs();
    await eventually('it is polled', () => installs() >= start + 2);
    const before = await stage.orders.untilReady('told');
    const already = installs();
    await eventually('it was looked at ten times', () => installs() >= already + 10);
    expect((await stage.orders.read('told'))?.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    await writeProviderConfig(stage.landscape, telling.provider);
  });
});
