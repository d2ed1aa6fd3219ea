import { afterAll, beforeAll, expect, test } from 'vitest';
import foo from '../../functions/providers/foo/provider.ts';
import { RENEW_AT_ANNOTATION, TOKENS_ANNOTATION } from '../../functions/workspace/decide.ts';
import { kubeconfigFromSecret, parseKubeconfig } from '../../shared/kube/kubeconfig.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import { FOO_MODULE, type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { createStage, QUICK_ENV, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';

/** kcp grants no shorter life. */
const LIFE_SECONDS = 600;

let stage: Stage;
let tenants: KcpTenants;

beforeAll(async () => {
  // Nothing but the renewal sets a timer.
  stage = await createStage({ provider: foo, kcp: true, config: { pollInterval: '0s' } });
  tenants = new KcpTenants(stage);
});

const started: ServiceProcess[] = [];

afterAll(async () => {
  await Promise.all(started.map((service) => service.stop()));
  await stage?.stop();
});

/** The whole runtime in a process whose clock is off by so much, its `Date` at least. */
async function startWithClock(offMs: number): Promise<ServiceProcess> {
  const shifted =
    `const Right=Date;globalThis.Date=class Date extends Right{` +
    `constructor(...given){if(given.length)super(...given);else super(Right.now()+${offMs})}` +
    `static now(){return Right.now()+${offMs}}}`;
  const service = await startServiceProcess({
    args: ['run'],
    dir: stage.landscape.dir,
    provider: FOO_MODULE,
    env: {
      ...stage.env,
      ...QUICK_ENV,
      TOKEN_LIFE: `${LIFE_SECONDS}s`,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(shifted)}`,
    },
  });
  started.push(service);
  return service;
}

test.each([
  ['fast', 'twenty minutes fast', 1_200_000],
  ['slow', 'an hour slow', -3_600_000],
])('tokens are renewed after the same part of their life by a process that is %s (%s)', async (name, _how, offMs) => {
  const service = await startWithClock(offMs);
  const workspace = await tenants.bound(name);
  const object = await tenants.orders(workspace).create('mine', 'one');
  await tenants.orders(workspace).untilReady('mine');
  const secret = await tenants.secretOf(workspace);
  const { token = '' } = parseKubeconfig(kubeconfigFromSecret(secret ?? {}, 'test'), 'test');
  const { iat } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { iat: number };
  const due = (iat + 0.8 * LIFE_SECONDS) * 1_000;
  const renewAt = Date.parse(secret?.metadata.annotations?.[RENEW_AT_ANNOTATION] ?? '');
  expect(Math.abs(renewAt - due)).toBeLessThan(5_000);
  const timer = await eventually('its renewal has a timer', () => stage.timer(tenants.keyOf(workspace, object)));
  expect(Math.abs(timer - due)).toBeLessThan(10_000);

  // Looked at again, it keeps the token: none is made in a loop.
  await tenants.orders(workspace).change('mine', 'two');
  await tenants.orders(workspace).untilReady('mine');
  const after = await tenants.secretOf(workspace);
  expect(after?.data?.['kubeconfig']).toBe(secret?.data?.['kubeconfig']);
  expect(after?.metadata.annotations?.[TOKENS_ANNOTATION]).not.toContain(',');
  await service.stop();
});
