import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { RunningRuntime } from '../../deploy/command/compose.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS } from '../../shared/kube/resources.ts';
import type { KubeObject, ServiceObject } from '../../shared/model/kubernetes.ts';
import { conditionOf } from '../../shared/status.ts';
import type { ManagedProcess } from '../control-planes/processes.ts';
import { startGoPeer } from '../go-peer/go-peer.ts';
import { addFinalizer, removeFinalizer } from '../support/cluster-provider/finalizers.ts';
import { goFoo } from '../support/go-foo.ts';
import { GoFoos, mcpRequest, workloadRequest } from '../support/go-foos.ts';
import type { History } from '../support/history.ts';
import { isReady } from '../support/orders.ts';
import { requestsIn } from '../support/requests.ts';
import { createStage, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

/** The Go runtime and ours take turns on the same clusters, with the same objects. */

const FOOS = goFoo.api.type;
const FOREIGN_FINALIZER = 'test.example.org/held';
const NAMES = Array.from({ length: 10 }, (_, index) => `cp-${index}`);

let stage: Stage;
let platform: HttpKubeClient;
let foos: GoFoos;
const running: (ManagedProcess | RunningRuntime)[] = [];

beforeAll(async () => {
  stage = await createStage({ provider: goFoo });
  platform = stage.landscape.platform.client;
  foos = await GoFoos.in(stage, NAMES);
});

afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
});

afterAll(() => stage?.stop());

async function startGo(): Promise<ManagedProcess> {
  const { platform, onboarding, dir } = stage.landscape;
  const go = await startGoPeer({
    platformKubeconfig: platform.kubeconfigPath,
    onboardingKubeconfig: onboarding.kubeconfigPath,
    providerName: goFoo.name,
    logFile: join(dir, 'go-peer.log'),
  });
  running.push(go);
  return go;
}

async function startOurs(): Promise<RunningRuntime> {
  const ours = await stage.run();
  running.push(ours);
  return ours;
}

const watchedByAll = () => [
  { client: platform, types: [ACCESS_REQUESTS, CLUSTER_REQUESTS] },
  { client: stage.landscape.onboarding.client, types: [FOOS] },
];

/** What was made or removed after the watch began; the objects of that time come first. */
function madeOrRemoved(history: History, before: number): string[] {
  return [ACCESS_REQUESTS, CLUSTER_REQUESTS]
    .flatMap((type) => history.of(type))
    .filter(({ name, time, type }) => name.startsWith('foo--') && time > before && type !== 'MODIFIED')
    .map(({ type, kind, namespace, name }) => `${type} ${kind} ${namespace}/${name}`);
}

test('what Go has brought to Ready stays as it is under our runtime, and is removed by it without a trace', async () => {
  const go = await startGo();
  await foos.createAll();
  await go.stop();
  const before = await foos.identities();
  expect(Object.values(before).flatMap((one) => Object.values(one))).not.toContain(undefined);

  const history = await stage.record(...watchedByAll());
  const begun = Date.now();
  await startOurs();
  const installed = () =>
    new Set(
      stage.steps
        .filter(({ functionName, outcome }) => functionName === 'provider-install' && outcome.kind !== 'failed')
        .map(({ event }) => event.key.name),
    );
  await eventually('our runtime has seen to each', () => installed().size === NAMES.length);
  await stage.idle();

  expect(await foos.identities()).toEqual(before);
  expect(madeOrRemoved(history, begun)).toEqual([]);
  const flips = history
    .of<ServiceObject>(FOOS)
    .filter(({ object }) => conditionOf(object, 'Ready')?.status !== 'True' || !isReady(object));
  expect(flips).toEqual([]);
  expect(history.interruptions).toEqual([]);

  await foos.removeAll();
  expect(await foos.leftOvers()).toEqual([]);
});

test('what our runtime has brought to Ready stays as it is under Go, and is removed by it without a trace', async () => {
  const ours = await startOurs();
  await foos.createAll();
  await stage.idle();
  await ours.stop();
  const before = await foos.identities();

  const history = await stage.record(...watchedByAll());
  const begun = Date.now();
  const go = await startGo();
  // Go writes nothing that shows a look at a Ready object; a new generation shows it.
  for (const name of NAMES) await stage.orders.change(name, 'two');
  for (const name of NAMES) await stage.orders.untilReady(name);

  expect(await foos.identities()).toEqual(before);
  expect(madeOrRemoved(history, begun)).toEqual([]);
  const notReady = history.of<ServiceObject>(FOOS).filter(({ object }) => object.status?.phase !== 'Ready');
  expect(notReady).toEqual([]);
  expect(history.interruptions).toEqual([]);

  await foos.removeAll();
  expect(await foos.leftOvers()).toEqual([]);
  await go.stop();
});

test('a deletion in which Go was stopped is finished: nothing is ordered or deleted a second time', async () => {
  const [first, second, third] = ['cp-0', 'cp-1', 'cp-2'] as const;
  // `left`: all that Go leaves while one of them is held. It removes both accesses side by side.
  const held = [
    { name: first, type: ACCESS_REQUESTS, request: mcpRequest(first), left: [`AccessRequest/${mcpRequest(first)}`] },
    {
      name: second,
      type: ACCESS_REQUESTS,
      request: workloadRequest(second),
      left: [`AccessRequest/${workloadRequest(second)}`, `ClusterRequest/${workloadRequest(second)}`],
    },
    {
      name: third,
      type: CLUSTER_REQUESTS,
      request: workloadRequest(third),
      left: [`ClusterRequest/${workloadRequest(third)}`],
    },
  ];
  const untouched = 'cp-3';
  const names = [...held.map(({ name }) => name), untouched];
  const go = await startGo();
  await foos.createAll(names);
  const requestOf = async ({ name, type, request }: (typeof held)[number]) =>
    (await platform.get(type, request, foos.namespaceOf(name))) as KubeObject;
  for (const one of held) await addFinalizer(platform, one.type, await requestOf(one), FOREIGN_FINALIZER);
  for (const { name } of held) await stage.orders.remove(name);
  for (const { name, request, left } of held)
    await eventually(`Go waits for ${request}`, async (seen) => {
      const present = await requestsIn(platform, foos.namespaceOf(name), 'foo--');
      seen(present);
      return present.join() === left.join() && (await stage.orders.read(name)) !== undefined;
    });
  await go.stop();
  await stage.orders.remove(untouched);

  const history = await stage.record(...watchedByAll());
  const begun = Date.now();
  const earlier = stage.steps.length;
  await startOurs();
  await stage.orders.untilGone(untouched);
  for (const { name } of held) {
    const waiting = await stage.orders.until(
      name,
      'waiting for the request that is held',
      (object) => conditionOf(object, 'Ready')?.reason.startsWith('WaitingFor') ?? false,
    );
    expect(waiting.status?.phase).toBe('Terminating');
  }
  for (const one of held) await removeFinalizer(platform, one.type, await requestOf(one), FOREIGN_FINALIZER);
  for (const { name } of held) await stage.orders.untilGone(name);

  expect(madeOrRemoved(history, begun).filter((line) => line.startsWith('ADDED'))).toEqual([]);
  expect(history.interruptions).toEqual([]);
  const deletes = stage.steps.slice(earlier).filter(({ functionName }) => functionName === 'provider-delete');
  expect(new Set(deletes.map(({ event }) => event.key.name))).toEqual(new Set([untouched]));
  await stage.idle();
  expect(await foos.leftOvers(names)).toEqual([]);
});
