import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import foo from '../../functions/providers/foo/provider.ts';
import { FUNCTION_NAMES, OBJECT_CHANGED } from '../../shared/events/catalogue.ts';
import { serviceEvent, toCloudEvent } from '../../shared/events/service-event.ts';
import { freePort } from '../control-planes/ports.ts';
import { runCommand } from '../support/run-command.ts';
import { PROVIDER_NAMESPACE } from '../support/service.ts';
import { createStage, PROJECT, type Stage } from '../support/stage.ts';

const NAME = 'cp';

let stage: Stage;
let env: Record<string, string>;

beforeAll(async () => {
  stage = await createStage({ provider: foo, config: { pollInterval: '0s' } });
  env = { ...stage.env, POD_NAMESPACE: PROVIDER_NAMESPACE, LOG_FILE: join(stage.landscape.dir, 'publish.log') };
  await Promise.all([stage.landscape.createControlPlane(PROJECT, NAME), stage.run()]);
  await stage.orders.create(NAME, 'one');
  await stage.orders.untilReady(NAME);
  await stage.idle();
});

afterAll(() => stage?.stop());

const publish = (...args: string[]) => runCommand(['publish', '--provider-name', 'foo', ...args], env);
const queued = async (): Promise<number> => {
  const counts = await Promise.all(FUNCTION_NAMES.map((name) => stage.jobs(name, 'waiting', 'prioritized', 'active')));
  return counts.reduce((sum, count) => sum + count, 0);
};

describe('service-provider publish', () => {
  test('shows the flow of an object that it looks up, until that ends', async () => {
    const { code, stdout, stderr } = await publish('--object', `${PROJECT}/${NAME}`, '--wait');
    expect(stderr).toBe('');
    expect(stdout.split('\n')).toEqual([
      `queued ${OBJECT_CHANGED} for standard/onboarding/${PROJECT}/${NAME}`,
      expect.stringMatching(/^ {2}resolve-credentials +\d+ ms {2}done, next .*install\.requested\.v1$/) as string,
      expect.stringMatching(/^ {2}provider-install +\d+ ms {2}done$/) as string,
      expect.stringMatching(/^ended after \d+ ms: done$/) as string,
      '',
    ]);
    expect(code).toBe(0);
  });

  test('takes events from standard input', async () => {
    const object = await stage.orders.read(NAME);
    const event = serviceEvent(OBJECT_CHANGED, stage.keyOf(object ?? { metadata: { name: '' } }), {
      reason: 'Published',
    });
    const input = JSON.stringify(toCloudEvent(event).toJSON());
    const args = ['publish', '--provider-name', 'foo', '--file', '-', '--wait'];
    const { code, stdout } = await runCommand(args, env, `${input}\n${input}\n`);
    expect(stdout.match(/^ended after/gm)).toHaveLength(2);
    expect(code).toBe(0);
  });

  test('of an object that is gone, or that waits, says so', async () => {
    const { code, stdout } = await publish('--object', `${PROJECT}/${NAME}`, '--uid', 'none', '--wait');
    // An earlier incarnation: nothing to do, and no failure.
    expect(stdout).toMatch(/ended after \d+ ms: done/);
    expect(code).toBe(0);
    await stage.orders.create('lonely', 'x');
    await stage.orders.untilReason('lonely', 'ControlPlaneNotFound');
    const lonely = await publish('--object', `${PROJECT}/lonely`, '--wait');
    expect(lonely.stdout).toMatch(/ended after \d+ ms: waiting for No ControlPlane of that name/);
    expect(lonely.code).toBe(0);
  });

  test.each<[string, string[], RegExp]>([
    ['an object that does not exist', ['--object', `${PROJECT}/nobody`], /--object: .* does not exist/],
    ['half an object', ['--object', NAME], /--object cp: expected <namespace>\/<name>/],
    ['a type that there is not', ['--object', `${PROJECT}/${NAME}`, '--type', 'x'], /--type x: choose one of/],
    ['a file that there is not', ['--file', '/nowhere'], /--file: ENOENT/],
    ['no event at all', [], /--object : expected/],
  ])('refuses %s, and queues nothing', async (_name, args, problem) => {
    await stage.idle();
    const { code, stderr, stdout } = await publish(...args);
    expect(stderr).toMatch(problem);
    expect([code, stdout, await queued()]).toEqual([2, '', 0]);
  });

  test('to an address where nobody answers fails', async () => {
    const args = ['--object', `${PROJECT}/${NAME}`, '--uid', 'u', '--address', `http://127.0.0.1:${await freePort()}/`];
    const { code, stderr } = await publish(...args);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^service-provider: http:.*ECONNREFUSED/) as string]);
  });

  test('refuses a list in which one event is wrong, and queues none of it', async () => {
    const event = serviceEvent(OBJECT_CHANGED, { ...(await keyOfFoo()), provider: 'bar' }, { reason: 'Published' });
    const good = serviceEvent(OBJECT_CHANGED, await keyOfFoo(), { reason: 'Published' });
    const input = JSON.stringify([good, event].map((each) => toCloudEvent(each).toJSON()));
    const { code, stderr, stdout } = await runCommand(['publish', '--provider-name', 'foo', '--file', '-'], env, input);
    expect(stderr).toMatch(/event 2 of 2: source: it is for bar; this is provider foo/);
    expect([code, stdout, await queued()]).toEqual([1, '', 0]);
  });
});

async function keyOfFoo() {
  return stage.keyOf((await stage.orders.read(NAME)) ?? { metadata: { name: '' } });
}
