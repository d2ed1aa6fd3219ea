import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import foo, { configMapName } from '../../functions/providers/foo/provider.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, CONFIG_MAPS } from '../../shared/kube/resources.ts';
import type { ResourceType, ServiceObject } from '../../shared/model/kubernetes.ts';
import { CONDITION_INSTALL_STARTED, hasCondition } from '../../shared/status.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import type { History } from '../support/history.ts';
import { callsOf, overlaps } from '../support/journal.ts';
import { inTheMoment } from '../support/moment.ts';
import { configMapValue, inOrder, requestsIn } from '../support/requests.ts';
import { Desk, type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { createStage, PROJECT, QUICK_ENV, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

let stage: Stage;
let desk: Desk;
let platform: HttpKubeClient;
let history: History;
let service: ServiceProcess;

const started: ServiceProcess[] = [];

/** Takes over soon what a killed one held. */
async function start(args: string[], env: Record<string, string> = {}): Promise<ServiceProcess> {
  const made = await startServiceProcess({
    args,
    dir: stage.landscape.dir,
    env: { ...desk.env, ...stage.env, ...QUICK_ENV, ...env },
  });
  started.push(made);
  return made;
}

async function kill(process: ServiceProcess): Promise<void> {
  await process.kill();
  desk.killed(process.pid);
}

beforeAll(async () => {
  // Nothing is looked at by itself: only what was begun goes on.
  stage = await createStage({ provider: foo, config: { pollInterval: '0s' } });
  desk = new Desk(stage.landscape.dir);
  platform = stage.landscape.platform.client;
  history = await stage.record({ client: platform, types: [ACCESS_REQUESTS, CLUSTER_REQUESTS] });
});

afterAll(async () => {
  await Promise.all(started.map((process) => process.stop()));
  await stage?.stop();
});

/** Every request was made once, whoever began to make it. */
function expectOneCreationEach({ name, platformNamespace }: ControlPlane): void {
  const added = [ACCESS_REQUESTS, CLUSTER_REQUESTS].flatMap((type) =>
    history.of(type, { type: 'ADDED', namespace: platformNamespace }),
  );
  expect(inOrder(added).sort()).toEqual([
    `AccessRequest foo--${name}--mcp`,
    `AccessRequest foo--${name}--wl`,
    ...[`ClusterRequest ${name}`, `ClusterRequest foo--${name}--wl`].sort(),
  ]);
  expect(history.interruptions).toEqual([]);
}

describe('everything in one process, which is killed and replaced by another', () => {
  beforeAll(async () => {
    service = await start(['run']);
  });

  afterAll(() => service.stop());

  const onboarding = () => stage.landscape.onboarding.client;
  const named =
    (name: string) =>
    ({ metadata }: ServiceObject): boolean =>
      metadata.name === name;

  test.each<
    [string, string, (controlPlane: ControlPlane) => [HttpKubeClient, ResourceType, (object: ServiceObject) => boolean]]
  >([
    [
      'when it has claimed the object',
      'claimed',
      ({ name }) => [
        onboarding(),
        foo.api.type,
        ({ metadata }: ServiceObject) => metadata.name === name && !!metadata.finalizers,
      ],
    ],
    [
      'when it has ordered access to the control plane',
      'ordered',
      ({ name }) => [platform, ACCESS_REQUESTS, named(`foo--${name}--mcp`)],
    ],
    [
      'when it has ordered the workload cluster',
      'workload',
      ({ name }) => [platform, CLUSTER_REQUESTS, named(`foo--${name}--wl`)],
    ],
    [
      'when it has said that an install begins',
      'begun',
      ({ name }) => [
        onboarding(),
        foo.api.type,
        (object) => object.metadata.name === name && hasCondition(object, CONDITION_INSTALL_STARTED),
      ],
    ],
    [
      'when the install has written something',
      'written',
      ({ name, client }) => [client, CONFIG_MAPS, named(configMapName(`${PROJECT}/${name}`))],
    ],
  ])('%s: the object becomes Ready, and nothing is ordered twice', async (_, name, moment) => {
    const controlPlane = await stage.landscape.createControlPlane(PROJECT, name);
    const [client, type, wanted] = moment(controlPlane);
    const { passed } = await inTheMoment(client, type, wanted, () => process.kill(service.pid, 'SIGKILL'));
    await stage.orders.create(name, 'one');
    await passed;
    await kill(service);
    service = await start(['run']);
    await stage.orders.untilReady(name);
    await stage.idle();
    expect(await configMapValue(controlPlane.client, configMapName(`${PROJECT}/${name}`))).toBe('one');
    expectOneCreationEach(controlPlane);
    expect(overlaps(desk.journal)).toEqual([]);
  });

  test('in the middle of an install: the next one installs when the first one surely has no right to any more', async () => {
    const name = 'middle';
    const controlPlane = await stage.landscape.createControlPlane(PROJECT, name);
    desk.hold('install', name);
    await stage.orders.create(name, 'one');
    await eventually('the install has begun', () => callsOf(desk.journal, name).length > 0);
    await kill(service);
    desk.release('install', name);
    service = await start(['run']);
    await stage.orders.untilReady(name);
    await stage.idle();

    expectOneCreationEach(controlPlane);
    const events = desk.journal.filter((entry) => entry.name === name).map(({ event, call }) => `${event} ${call}`);
    expect(events.slice(0, 2)).toEqual(['start install', 'killed install']);
    expect(events.slice(2).filter((event) => event.startsWith('end'))).toHaveLength(events.slice(2).length / 2);
    expect(overlaps(desk.journal)).toEqual([]);
    expect(await configMapValue(controlPlane.client, configMapName(`${PROJECT}/${name}`))).toBe('one');

    await stage.orders.remove(name);
    await stage.orders.untilGone(name);
    expect(await requestsIn(platform, controlPlane.platformNamespace, 'foo--')).toEqual([]);
  });
});

describe('one function in a process of its own', () => {
  test('killed after it wrote that all is uninstalled and before it said so to anybody: access is removed all the same', async () => {
    const name = 'silent';
    const controlPlane = await stage.landscape.createControlPlane(PROJECT, name);
    await stage.run({ functions: ['resolve-credentials', 'provider-install', 'access-teardown'] });
    const worker = await start(['function', 'provider-delete'], { LEASE_DURATION: '10s' });
    const { metadata } = await stage.orders.create(name, 'one');
    await stage.orders.untilReady(name);
    await stage.idle();
    desk.hold('delete', name);
    await stage.orders.remove(name);
    await eventually('the deletion has begun', () => callsOf(desk.journal, name).length > 0);

    const { passed } = await inTheMoment(
      stage.landscape.onboarding.client,
      foo.api.type,
      (object) => object.metadata.uid === metadata.uid && hasCondition(object, 'Uninstalled'),
      () => process.kill(worker.pid, 'SIGKILL'),
    );
    // Without its queue it can write the status, and nothing after that.
    stage.redis.signal('SIGSTOP');
    desk.release('delete', name);
    await passed.finally(() => stage.redis.signal('SIGCONT'));
    await kill(worker);
    expect(await stage.jobs('provider-delete', 'active')).toBe(1);
    expect(await stage.jobs('access-teardown', 'active', 'waiting', 'prioritized')).toBe(0);
    expect(await stage.orders.read(name)).toBeDefined();
    const before = stage.steps.length;

    await start(['function', 'provider-delete']);
    await stage.orders.untilGone(name);
    expect(await requestsIn(platform, controlPlane.platformNamespace, 'foo--')).toEqual([]);
    // The job came back, or the lease of its killed holder ended: either sends the object to the start.
    const steps = stage.steps.slice(before).map(({ functionName, event }) => `${functionName} ${event.reason}`);
    expect(steps[0]).toMatch(/^resolve-credentials (PreconditionFailed|Parked)$/);
    expect(steps[1]).toBe('access-teardown NextStep');
    expect(callsOf(desk.journal, name)).toEqual(['delete']);
    expect(overlaps(desk.journal)).toEqual([]);
  });
});
