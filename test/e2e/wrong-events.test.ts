import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { configMapName } from '../../functions/providers/foo/provider.ts';
import {
  DELETE_REQUESTED,
  type EventType,
  INSTALL_REQUESTED,
  OBJECT_CHANGED,
  TEARDOWN_REQUESTED,
} from '../../shared/events/catalogue.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, CONFIG_MAPS, SECRETS } from '../../shared/kube/resources.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import type { ObjectKey } from '../../shared/model/object-key.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { callsOf } from '../support/journal.ts';
import { Puppet } from '../support/puppet.ts';
import { requestsIn } from '../support/requests.ts';
import { createStage, PROJECT, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

const NAME = 'cp';
const WORKLOAD_REQUEST = `foo--${NAME}--wl`;
const FOREIGN_FINALIZER = 'test.example.org/held';
const EVENTS: EventType[] = [OBJECT_CHANGED, INSTALL_REQUESTED, DELETE_REQUESTED, TEARDOWN_REQUESTED];

const puppet = new Puppet();
const { journal } = puppet;

let stage: Stage;
let controlPlane: ControlPlane;
let platform: HttpKubeClient;
/** The object of the test at hand, as it was when Ready. */
let ready: ServiceObject;

beforeAll(async () => {
  stage = await createStage({ provider: puppet.provider });
  platform = stage.landscape.platform.client;
  await stage.run();
  controlPlane = await stage.landscape.createControlPlane(PROJECT, NAME);
});

afterAll(() => stage?.stop());

beforeEach(async () => {
  await stage.orders.create(NAME, 'one');
  await stage.orders.untilReady(NAME);
  // kcp gives an object that was created by apply a new version once more, at the first apply that changes nothing.
  await stage.orders.change(NAME, 'two');
  ready = await stage.orders.untilReady(NAME);
  await stage.idle();
  journal.length = 0;
});

/** Wherever a test has brought it, in the end it can be deleted. */
afterEach(async () => {
  await stage.orders.remove(NAME);
  await stage.orders.untilGone(NAME);
  await stage.idle();
});

/** Names and versions of all that belongs to the object: equal means that nothing was written. */
async function everything(): Promise<string[]> {
  const namespace = controlPlane.platformNamespace;
  const lists = await Promise.all([
    platform.list(ACCESS_REQUESTS, { namespace }),
    platform.list(CLUSTER_REQUESTS, { namespace }),
    platform.list(SECRETS, { namespace }),
    controlPlane.client.list(CONFIG_MAPS, { namespace: 'default' }),
    stage.landscape.onboarding.client.list(stage.provider.api.type, { namespace: PROJECT }),
  ]);
  return lists.flatMap(({ items }) =>
    items.map(({ metadata }) => `${metadata.namespace}/${metadata.name} ${metadata.resourceVersion}`),
  );
}

async function publish(type: EventType, key: ObjectKey = stage.keyOf(ready)): Promise<void> {
  await stage.publish(type, key);
  await stage.idle();
}

/** Publishes each type of event in turn, and sees to it that none of them leads to a write. */
async function expectNothingWritten(key: ObjectKey = stage.keyOf(ready)): Promise<void> {
  const before = await everything();
  for (const type of EVENTS) {
    await publish(type, key);
    expect({ type, found: await everything() }).toEqual({ type, found: before });
  }
}

describe('events of every type that come when it is not their turn', () => {
  test('change nothing at an object that is Ready', async () => {
    await expectNothingWritten();
    expect(callsOf(journal, NAME)).not.toContain('delete');
    expect(journal.filter(({ event }) => event === 'failed')).toEqual([]);
  });

  test('neither install nor take access away while the provider is still deleting', async () => {
    puppet.answer('delete', NAME, { requeueAfter: '1h' }, { instead: true });
    await stage.orders.remove(NAME);
    await eventually('delete was called', () => callsOf(journal, NAME).includes('delete'));
    await stage.idle();
    await expectNothingWritten();
    expect(new Set(callsOf(journal, NAME))).toEqual(new Set(['delete']));

    puppet.answer('delete', NAME, undefined);
    await publish(OBJECT_CHANGED);
    await stage.orders.untilGone(NAME);
    expect(await controlPlane.client.get(CONFIG_MAPS, configMapName(`${PROJECT}/${NAME}`), 'default')).toBeUndefined();
  });

  test('call the provider no more while access is being removed and somebody else holds that up', async () => {
    const namespace = controlPlane.platformNamespace;
    const read = () => platform.get(ACCESS_REQUESTS, WORKLOAD_REQUEST, namespace);
    const setFinalizers = (finalizers: string[]) =>
      platform.mergePatch(ACCESS_REQUESTS, WORKLOAD_REQUEST, { metadata: { finalizers } }, { namespace });
    await setFinalizers([...((await read())?.metadata.finalizers ?? []), FOREIGN_FINALIZER]);
    await stage.orders.remove(NAME);
    await stage.orders.untilReason(NAME, 'WaitingForAccessRequestDeletion');
    const held = await eventually('its other holders have let go of the request', async () => {
      const { metadata } = (await read()) ?? {};
      return metadata?.deletionTimestamp !== undefined && metadata.finalizers?.length === 2 && metadata;
    });
    await stage.idle();
    journal.length = 0;
    await expectNothingWritten();
    expect(journal).toEqual([]);

    await setFinalizers(held.finalizers?.filter((finalizer) => finalizer !== FOREIGN_FINALIZER) ?? []);
    await stage.orders.untilGone(NAME);
    expect(await requestsIn(platform, namespace, 'foo--')).toEqual([]);
  });

  test('do nothing for an object that is gone, nor to another one of its name', async () => {
    const old = stage.keyOf(ready);
    await stage.orders.remove(NAME);
    await stage.orders.untilGone(NAME);
    await stage.idle();
    journal.length = 0;
    await expectNothingWritten(old);
    expect(journal).toEqual([]);

    await stage.orders.create(NAME, 'three');
    const successor = await stage.orders.untilReady(NAME);
    expect(successor.metadata.uid).not.toBe(old.uid);
    await stage.idle();
    journal.length = 0;
    await expectNothingWritten(old);
    expect(journal).toEqual([]);
  });
});
