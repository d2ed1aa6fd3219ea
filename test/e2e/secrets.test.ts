import { appendFileSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatKubeconfig } from '../../shared/kube/kubeconfig.ts';
import { SECRETS } from '../../shared/kube/resources.ts';
import type { Secret } from '../../shared/model/access.ts';
import { conditionOf } from '../../shared/status.ts';
import { LeakyStage } from '../support/leaky-stage.ts';
import { readiness } from '../support/metrics-client.ts';
import { type Credential, scan, textsInFiles, textsInRedis } from '../support/secret-scan.ts';
import { PROVIDER_NAMESPACE } from '../support/service.ts';
import { eventually } from '../support/wait.ts';

const NAME = 'cp';
const CANARY: Credential = { name: 'canary', value: `canary-${randomBytes(30).toString('hex')}` };

let leaky: LeakyStage;

beforeAll(async () => {
  leaky = await LeakyStage.start(NAME);
});

afterAll(() => leaky?.stop());

describe('the scanner', () => {
  test('finds a credential that was planted, wherever it is', async () => {
    const { value } = CANARY;
    const other = new Redis(leaky.stage.redis.url, { replyMapping: 'legacy' });
    const queue = new Queue('planted', { connection: other, prefix: 'planted' });
    await queue.add('event', { token: value });
    await leaky.redis.set('planted-string', `token: ${value}`);
    await leaky.redis.hset('planted-hash', 'field', value);
    await leaky.redis.rpush('planted-list', Buffer.from(`{"token":"${value}"}`).toString('base64'));
    await leaky.redis.sadd('planted-set', value.slice(0, 40));
    await leaky.redis.zadd('planted-zset', 1, value);
    await leaky.redis.xadd('planted-stream', '*', 'field', value);
    await leaky.redis.set(`planted-key-${value}`, '1');
    const log = join(leaky.stage.landscape.dir, 'planted.log');
    writeFileSync(log, '');
    expect(scan(textsInFiles(log), [CANARY])).toEqual([]);
    appendFileSync(log, `{"msg":"calling with ${value}"}\n`);

    const found = scan([...(await textsInRedis(leaky.redis)), ...textsInFiles(log)], [CANARY]);
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
      () => scan([{ place: 'traffic', text: leaky.traffic.text() }], [CANARY]).length > 0,
    );
    await leaky.redis.del(...(await leaky.redis.keys('planted*')));
    await queue.close();
    other.disconnect();
    // One of the names is the canary: what was sent to remove it may be told late.
    await leaky.redis.echo('all of it is removed');
    await eventually('the last of it is told', () => leaky.traffic.text().includes('all of it is removed'));
    leaky.traffic.clear();
  });
});

describe.each(['standard', 'kcp'])('in %s mode nothing but Secrets holds a credential', (mode) => {
  const untilSaid = (reason: string, generation: number) => leaky.untilSaid(mode, NAME, reason, generation);

  test('after an install by a provider that logs and reports its tokens', async () => {
    await leaky.ordersOf(mode).create(NAME, 'install');
    const object = await leaky.ordersOf(mode).untilReady(NAME);
    expect(conditionOf(object, 'Installed')?.message).toMatch(/^installed with \[redacted\]/);
    await leaky.ordersOf(mode).change(NAME, 'report');
    const reported = await untilSaid('Trying', 2);
    expect(conditionOf(reported, 'Ready')?.message).toMatch(/^trying \[redacted\]/);
    const credentials = leaky.credentials();
    expect(credentials.length).toBeGreaterThan(2);
    expect(textsInFiles(leaky.logFile)[0]?.text).toContain('"msg":"calling with [redacted] and [redacted]"');
    expect(scan(await leaky.everyText(), credentials)).toEqual([]);
  });

  test('after an error whose text is a kubeconfig', async () => {
    await leaky.ordersOf(mode).change(NAME, 'throw');
    const object = await untilSaid('ReconcileError', 3);
    expect(conditionOf(object, 'Ready')?.message).toMatch(/^no access with \[redacted\]/);
    expect(scan(await leaky.everyText(), leaky.credentials())).toEqual([]);
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
        ? ['foo--workspace--mcp', leaky.tenants.namespaceOf(leaky.tenant)]
        : [`foo--${NAME}--mcp.kubeconfig`, leaky.controlPlane.platformNamespace];
    const data = { kubeconfig: Buffer.from(text).toString('base64') };
    await leaky.platform.mergePatch<Secret>(SECRETS, name, { data }, { namespace });
    const { metadata } = await leaky.ordersOf(mode).change(NAME, randomBytes(4).toString('hex'));
    if (mode === 'kcp') {
      // The Secret is the runtime's own there: it makes it anew.
      await leaky.ordersOf(mode).untilReady(NAME);
      const mended = await leaky.platform.get<Secret>(SECRETS, name, namespace);
      expect(mended?.data?.['kubeconfig']).not.toBe(data.kubeconfig);
    } else {
      const object = await untilSaid('ReconcileError', metadata.generation ?? 0);
      expect(conditionOf(object, 'Ready')?.message).toMatch(problem);
    }
    expect(scan(await leaky.everyText(), [...leaky.credentials(), CANARY])).toEqual([]);
  });
});

test("nothing but Secrets holds a credential after the runtime's own access to kcp was replaced by a broken one", async () => {
  const kubeconfig = Buffer.from(`users:\n- name: u\n  user:\n    token: !vault ${CANARY.value}\n`).toString('base64');
  await leaky.platform.mergePatch<Secret>(
    SECRETS,
    'kcp-kubeconfig',
    { data: { kubeconfig } },
    { namespace: PROVIDER_NAMESPACE },
  );
  await eventually('it is noticed', async () => {
    const { status, text } = await readiness(leaky.service.readyUrl, leaky.reader);
    return status === 503 && text.includes('kcp');
  });
  expect(scan(await leaky.everyText(), [...leaky.credentials(), CANARY])).toEqual([]);
});

function kubeconfigWith(token: string): string {
  return formatKubeconfig({ server: 'https://127.0.0.1:1', token });
}
