import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import foo from '../../functions/providers/foo/provider.ts';
import type { RunningRuntime } from '../../deploy/command/compose.ts';
import { isForbidden } from '../../shared/kube/api-error.ts';
import { CLUSTER_REQUESTS } from '../../shared/kube/resources.ts';
import type { Condition } from '../../shared/model/kubernetes.ts';
import { callsOf } from '../support/journal.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import { Puppet } from '../support/puppet.ts';
import { orphansIn } from '../support/orphan-ports.ts';
import { type Served, servedInKcp, servedInStandard, strip, untilNothingIsLeft } from '../support/served.ts';
import { createStage, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

/** What tenants can do to objects that are theirs: finalizers, status and existence are in their hands. */
const FOOS = foo.api.type;
const HOLD = 'test.example/hold';

let stage: Stage;
let tenants: KcpTenants;
let runtime: RunningRuntime;
const puppet = new Puppet();

beforeAll(async () => {
  stage = await createStage({ provider: puppet.provider, kcp: true });
  tenants = new KcpTenants(stage);
  runtime = await stage.run();
});

afterAll(() => stage?.stop());

const MODES = [
  ['standard', (name: string): Promise<Served> => servedInStandard(stage, name)],
  ['kcp', (name: string): Promise<Served> => servedInKcp(tenants, name)],
] as const;

const deletesOf = ({ name }: Served): number =>
  callsOf(puppet.journal, name).filter((call) => call === 'delete').length;

async function whileNobodyWorks(task: () => Promise<void>): Promise<void> {
  await stage.idle();
  await runtime.stop();
  await task();
  runtime = await stage.run();
}

describe.each(MODES)('%s: status is only shown', (mode, serve) => {
  const condition = (type: string, status: Condition['status'], reason: string): Condition => ({
    type,
    status,
    reason,
    message: 'as I say',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  });

  test.each<[string, Condition[]]>([
    ['uninstalled', [condition('Uninstalled', 'True', 'Deleted'), condition('Ready', 'False', 'Terminating')]],
    ['never-started', [condition('Ready', 'False', 'Rejected')]],
    ['emptied', []],
    ['not-started', [condition('InstallStarted', 'False', 'Nothing'), condition('Ready', 'False', 'AccessError')]],
  ])('a forged one, %s, does not keep the provider from removing what it installed', async (what, conditions) => {
    const served = await serve(`forged-${what}-${mode}`);
    expect(await served.installed()).toEqual(['one', 'one']);
    await whileNobodyWorks(async () => {
      const { name, namespace } = served;
      const forged = served.client
        .mergePatch(FOOS, name, { status: { conditions } }, { namespace, subresource: 'status' })
        .then(() => true, isForbidden);
      // In kcp not even an administrator of all may write it; see kcp-export.test.ts for where he may.
      expect(await forged).toBe(true);
      await served.orders.remove(name);
    });
    await untilNothingIsLeft(served);
    expect(deletesOf(served)).toBe(1);
  });
});

describe.each(MODES)('%s: a finalizer that is taken away changes nothing about what is removed', (mode, serve) => {
  test('with the deletion', async () => {
    const served = await serve(`stripped-${mode}`);
    await served.orders.change(served.name, 'two');
    await served.orders.untilReady(served.name);
    await stage.idle();
    await Promise.all([served.orders.remove(served.name), strip(served)]);
    await strip(served);
    await untilNothingIsLeft(served);
    expect(deletesOf(served)).toBe(1);
    // It gets the object as it was installed last.
    const last = puppet.journal.findLast(({ name, call }) => name === served.name && call === 'delete');
    expect(last).toMatchObject({ uid: served.object.metadata.uid, foo: 'two' });
  });

  test("while the provider's delete runs", async () => {
    const served = await serve(`deleting-${mode}`);
    const held = puppet.hold('delete', served.name);
    await served.orders.remove(served.name);
    const call = await held;
    await strip(served);
    await served.orders.untilGone(served.name);
    call.release();
    await untilNothingIsLeft(served);
    expect(deletesOf(served)).toBe(1);
  });

  test('while access is removed', async () => {
    const served = await serve(`leaving-${mode}`);
    const { tenantNamespace: namespace } = served;
    const name = `foo--${served.name}--wl`;
    const finalizers = async (): Promise<string[]> =>
      (await tenants.platform.get(CLUSTER_REQUESTS, name, namespace))?.metadata.finalizers ?? [];
    const hold = (kept: string[]) =>
      tenants.platform.mergePatch(CLUSTER_REQUESTS, name, { metadata: { finalizers: kept } }, { namespace });
    await hold([...(await finalizers()), HOLD]);
    await served.orders.remove(served.name);
    await served.orders.untilReason(served.name, 'WaitingForClusterRequestDeletion');
    await stage.idle();
    await strip(served);
    await served.orders.untilGone(served.name);
    await hold((await finalizers()).filter((each) => each !== HOLD));
    await untilNothingIsLeft(served);
    expect(deletesOf(served)).toBe(1);
  });

  test('while nobody watches', async () => {
    const served = await serve(`unwatched-${mode}`);
    await whileNobodyWorks(async () => {
      await served.orders.remove(served.name);
      await strip(served);
      await served.orders.untilGone(served.name);
    });
    await untilNothingIsLeft(served);
    expect(deletesOf(served)).toBe(1);
  });

  test('and another object of that name is served at once', async () => {
    const served = await serve(`again-${mode}`);
    await served.orders.remove(served.name);
    await strip(served);
    await served.orders.untilGone(served.name);
    await served.orders.create(served.name, 'two');
    await served.orders.untilReady(served.name);
    await eventually('the second is installed', async (seen) => {
      const values = await served.installed();
      seen(values);
      return values.every((value) => value === 'two');
    });
    await served.orders.remove(served.name);
    await untilNothingIsLeft(served);
    expect(deletesOf(served)).toBeGreaterThan(0);
  });
});

test('after all of it nothing is left that belongs to no object', async () => {
  await stage.idle();
  await eventually('no orphan', async (seen) => {
    const found = await orphansIn(puppet.provider, stage, tenants);
    seen(found);
    return found.length === 0;
  });
  expect(await orphansIn(puppet.provider, stage, tenants)).toEqual([]);
});
