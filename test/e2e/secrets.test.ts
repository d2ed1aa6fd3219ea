import { appendFileSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import foo from '../../functions/providers/foo/provider.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { formatKubeconfig } from '../../shared/kube/kubeconfig.ts';
import {
  ACCESS_REQUESTS,
  CLUSTER_REQUESTS,
  CLUSTERS,
  CONFIG_MAPS,
  EVENTS,
  SECRETS,
} from '../../shared/kube/resources.ts';
import type { Secret } from '../../shared/model/access.ts';
import { conditionOf } from '../../shared/status.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import type { History } from '../support/history.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import {
  type Credential,
  credentialsIn,
  recordTraffic,
  scan,
  type Text,
  textsInClusters,
  textsInFiles,
  textsInRedis,
} from '../support/secret-scan.ts';
import { PROVIDER_NAMESPACE } from '../support/service.ts';
import { LEAKY_MODULE, type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { createStage, PROJECT, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';
import type { TenantWorkspace } from '../support/workspaces.ts';

const FOOS = foo.api.type;
const NAME = 'cp';
const CANARY: Credential = { name: 'canary', value: `canary-${randomBytes(30).toString('hex')}` };

let stage: Stage;
let redis: Redis;
let service: ServiceProcess;
let controlPlane: ControlPlane;
let tenants: KcpTenants;
let tenant: TenantWorkspace;
let platform: HttpKubeClient;
/** Every Secret that there ever was while the test ran. */
let secrets: History;
/** Every command that Redis was sent, with its arguments. */
let logFile: string;
let traffic: Awaited<ReturnType<typeof recordTraffic>>;

beforeAll(async () => {
  stage = await createStage({ provider: foo, kcp: true });
  const { landscape } = stage;
  tenants = new KcpTenants(stage);
  platform = landscape.platform.client;
  redis = new Redis(stage.redis.url, { replyMapping: 'legacy' });
  logFile = join(landscape.dir, 'service.log');
  traffic = await recordTraffic(stage.redis.port);
  [controlPlane, tenant, service] = await Promise.all([
    landscape.createControlPlane(PROJECT, NAME),
    landscape.createTenantWorkspace('tenant'),
    startServiceProcess({
      args: ['run'],
      dir: landscape.dir,
      provider: LEAKY_MODULE,
      verbosity: 'trace',
      env: { ...stage.env, LOG_FILE: logFile, LEASE_DURATION: '3s' },
    }),
  ]);
  secrets = await stage.record(...[platform, tenant.client].map((client) => ({ client, types: [SECRETS] })));
  await tenants.bind(tenant);
});

afterAll(async () => {
  await service?.stop();
  traffic?.stop();
  redis?.disconnect();
  await stage?.stop();
});

const ordersOf = (mode: string) => (mode === 'kcp' ? tenants.orders(tenant) : stage.orders);

/** Every credential that somebody was given, and those of the administrators. */
function realCredentials(): Credential[] {
  const { kcp } = stage.landscape;
  const administrator = { name: 'administrator', value: kcp.adminCredentials.token ?? '' };
  return [administrator, ...secrets.of<Secret>(SECRETS).flatMap(({ object }) => credentialsIn(object))];
}

/** Wherever credentials do not belong. */
const everyText = async (): Promise<Text[]> => [
  ...(await textsInRedis(redis)),
  { place: 'what Redis was sent', text: traffic.text() },
  ...textsInFiles(service.logFile, logFile),
  ...(await textsInClusters(
    [
      platform,
      ...[stage.landscape.onboarding, stage.landscape.services, tenant, controlPlane].map(({ client }) => client),
    ],
    [FOOS, ACCESS_REQUESTS, CLUSTER_REQUESTS, CLUSTERS, CONFIG_MAPS, EVENTS],
  )),
];

describe('the scanner', () => {
  test('finds a credential that was planted, wherever it is', async () => {
    const { value } = CANARY;
    const other = new Redis(stage.redis.url, { replyMapping: 'legacy' });
    const queue = new Queue('planted', { connection: other, prefix: 'planted' });
    await queue.add('event', { token: value });
    await redis.set('planted-string', `token: ${value}`);
    await redis.hset('planted-hash', 'field', value);
    await redis.rpush('planted-list', Buffer.from(`{"token":"${value}"}`).toString('base64'));
    await redis.sadd('planted-set', value.slice(0, 40));
    await redis.zadd('planted-zset', 1, value);
    await redis.xadd('planted-stream', '*', 'field', value);
    await redis.set(`planted-key-${value}`, '1');
    const log = join(stage.landscape.dir, 'planted.log');
    writeFileSync(log, '');
    expect(scan(textsInFiles(log), [CANARY])).toEqual([]);
    appendFileSync(log, `{"msg":"calling with ${value}"}\n`);

    const found = scan([...(await textsInRedis(redis)), ...textsInFiles(log)], [CANARY]);
    const places = found
      .map(({ place }) => place.replace(value, '…').replace(/^hash planted:planted:\d+$/, 'job'))
      .sort();
    expect(places).toEqual(
      [
        log,
        'hash planted-hash',
        'job',
        'key planted-key-…',
        'list planted-list',
        'set planted-set',
        'stream planted-stream',
        'string planted-string',
        'zset planted-zset',
      ].sort(),
    );
    await eventually(
      'what was sent is seen',
      () => scan([{ place: 'traffic', text: traffic.text() }], [CANARY]).length > 0,
    );
    await redis.del(...(await redis.keys('planted*')));
    await queue.close();
    other.disconnect();
    traffic.clear();
  });
});

describe.each(['standard', 'kcp'])('in %s mode nothing but Secrets holds a credential', (mode) => {
  const untilSaid = (reason: string, generation: number) =>
    ordersOf(mode).until(
      NAME,
      reason,
      ({ status, ...object }) =>
        status?.observedGeneration === generation && conditionOf({ ...object, status }, 'Ready')?.reason === reason,
    );

  test('after an install by a provider that logs and reports its tokens', async () => {
    await ordersOf(mode).create(NAME, 'install');
    const object = await ordersOf(mode).untilReady(NAME);
    expect(conditionOf(object, 'Installed')?.message).toMatch(/^installed with \[redacted\]/);
    await ordersOf(mode).change(NAME, 'report');
    const reported = await untilSaid('Trying', 2);
    expect(conditionOf(reported, 'Ready')?.message).toMatch(/^trying \[redacted\]/);
    const credentials = realCredentials();
    expect(credentials.length).toBeGreaterThan(2);
    expect(textsInFiles(logFile)[0]?.text).toContain('"msg":"calling with [redacted] and [redacted]"');
    expect(scan(await everyText(), credentials)).toEqual([]);
  });

  test('after an error whose text is a kubeconfig', async () => {
    await ordersOf(mode).change(NAME, 'throw');
    const object = await untilSaid('ReconcileError', 3);
    expect(conditionOf(object, 'Ready')?.message).toMatch(/^no access with \[redacted\]/);
    expect(scan(await everyText(), realCredentials())).toEqual([]);
  });

  const working = kubeconfigWith(CANARY.value);
  const broken: [string, string, RegExp][] = [
    ['is no YAML', `users: [{user: {token: "${CANARY.value}`, /not valid YAML$/],
    ['has nothing but a token', CANARY.value, /document: .* expected object/],
    [
      'wants a program to be run',
      working.replace('token: ', 'exec: {command: x}\n      token: '),
      /user\.exec is refused/,
    ],
    ['has a tag that nobody knows', working.replace('token: ', 'token: !vault '), /can't be reached \(reference/],
    ['leads to a server that is not there', working, /can't be reached \(reference/],
  ];

  test.each(broken)('after the kubeconfig was replaced by one that %s', async (_, text, problem) => {
    const [name, namespace] =
      mode === 'kcp'
        ? ['foo--workspace--mcp', tenants.namespaceOf(tenant)]
        : [`foo--${NAME}--mcp.kubeconfig`, controlPlane.platformNamespace];
    const data = { kubeconfig: Buffer.from(text).toString('base64') };
    await platform.mergePatch<Secret>(SECRETS, name, { data }, { namespace });
    const { metadata } = await ordersOf(mode).change(NAME, randomBytes(4).toString('hex'));
    if (mode === 'kcp') {
      // The Secret is the runtime's own there: it makes it anew.
      await ordersOf(mode).untilReady(NAME);
      const mended = await platform.get<Secret>(SECRETS, name, namespace);
      expect(mended?.data?.['kubeconfig']).not.toBe(data.kubeconfig);
    } else {
      const object = await untilSaid('ReconcileError', metadata.generation ?? 0);
      expect(conditionOf(object, 'Ready')?.message).toMatch(problem);
    }
    expect(scan(await everyText(), [...realCredentials(), CANARY])).toEqual([]);
  });
});

test("nothing but Secrets holds a credential after the runtime's own access to kcp was replaced by a broken one", async () => {
  const kubeconfig = Buffer.from(`users:\n- name: u\n  user:\n    token: !vault ${CANARY.value}\n`).toString('base64');
  await platform.mergePatch<Secret>(
    SECRETS,
    'kcp-kubeconfig',
    { data: { kubeconfig } },
    { namespace: PROVIDER_NAMESPACE },
  );
  await eventually('it is noticed', async () => {
    const answer = await fetch(service.readyUrl);
    return answer.status === 503 && (await answer.text()).includes('kcp');
  });
  expect(scan(await everyText(), [...realCredentials(), CANARY])).toEqual([]);
});

function kubeconfigWith(token: string): string {
  return formatKubeconfig({ server: 'https://127.0.0.1:1', token });
}
