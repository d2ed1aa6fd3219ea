import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import foo from '../../functions/providers/foo/provider.ts';
import { selfSignedCertificate } from '../../deploy/command/self-signed.ts';
import { freePort } from '../control-planes/ports.ts';
import { startProcess } from '../control-planes/processes.ts';
import { answersOk } from '../control-planes/readiness.ts';
import { certificateAt } from '../support/metrics-client.ts';
import { runCommand } from '../support/run-command.ts';
import { COMMAND, FOO_MODULE, ROOT, startServiceProcess } from '../support/service-process.ts';
import { createStage, type Stage } from '../support/stage.ts';
import { problemsIn } from '../support/problems.ts';
import { eventually } from '../support/wait.ts';

/** Settings that name a file or an address: wrong at the start, and unreadable later. */

interface Kubeconfig {
  'current-context': string;
  clusters: { cluster: Record<string, unknown> }[];
  users: { user: Record<string, unknown> }[];
}

let stage: Stage;
let base: Record<string, string>;

const path = (name: string): string => join(stage.landscape.dir, name);

function file(name: string, text: string): string {
  writeFileSync(path(name), text);
  return path(name);
}

/** That of a cluster, with something else in it. */
function kubeconfig(
  name: string,
  change: (config: Kubeconfig) => void,
  of: 'platform' | 'onboarding' = 'platform',
): string {
  const config = parse(stage.landscape[of].kubeconfig) as Kubeconfig;
  change(config);
  return file(name, stringify(config));
}

const user = (config: Kubeconfig): Record<string, unknown> => config.users[0]?.user ?? {};
const cluster = (config: Kubeconfig): Record<string, unknown> => config.clusters[0]?.cluster ?? {};

beforeAll(async () => {
  stage = await createStage({ provider: foo });
  base = { ...stage.env, SERVICE_PROVIDER_MODULE: FOO_MODULE };
});

afterAll(() => stage?.stop());

describe('at the start, a command ends with the name of the setting and what to do', () => {
  const RUN = ['run', '--health-probe-bind-address=0'];
  const SERVE = ['serve', 'resolve-credentials', '--bind-address=0'];
  const DISPATCH = ['dispatch', '--health-probe-bind-address=0', '--to', 'provider-install=http://127.0.0.1:1'];
  const missing = (): string => path('missing');

  test.each<[string, string[], () => Record<string, string>, RegExp]>([
    ['no platform kubeconfig', RUN, () => ({ KUBECONFIG: missing() }), /KUBECONFIG: .*missing.*; name a file/],
    [
      'no platform, and no pod',
      RUN,
      () => ({ KUBECONFIG: '', KUBERNETES_SERVICE_HOST: '127.0.0.1' }),
      /in-cluster configuration: .*ca\.crt/,
    ],
    ...[RUN, SERVE, ['init']].map((args): [string, string[], () => Record<string, string>, RegExp] => [
      `${args[0]}: no onboarding kubeconfig`,
      args,
      () => ({ ONBOARDING_KUBECONFIG: missing() }),
      /ONBOARDING_KUBECONFIG: .*missing.*; name a file/,
    ]),
    [
      'an onboarding kubeconfig that is none',
      SERVE,
      () => ({ ONBOARDING_KUBECONFIG: file('broken', '{ apiVersion: ') }),
      /ONBOARDING_KUBECONFIG: kubeconfig .*broken: not valid YAML/,
    ],
    [
      'a context that is not there',
      RUN,
      () => ({ ONBOARDING_KUBECONFIG: kubeconfig('context', (config) => (config['current-context'] = 'other')) }),
      /ONBOARDING_KUBECONFIG: kubeconfig .*context: current-context: there is no context other/,
    ],
    [
      'no token where the kubeconfig names one',
      SERVE,
      () => ({
        ONBOARDING_KUBECONFIG: kubeconfig('no-token', (config) => (user(config)['tokenFile'] = missing())),
      }),
      /ONBOARDING_KUBECONFIG: .*missing/,
    ],
    [
      'an authority that is none',
      RUN,
      () => ({
        KUBECONFIG: kubeconfig('no-ca', (config) => (cluster(config)['certificate-authority-data'] = 'UEVN')),
      }),
      /KUBECONFIG: certificate-authority-data: holds no certificate/,
    ],
    ['no address of Redis', RUN, () => ({ REDIS_URL: '', REDIS_URL_FILE: missing() }), /REDIS_URL_FILE: .*missing/],
    ['no log', RUN, () => ({ LOG_FILE: join(missing(), 'log') }), /LOG_FILE: .*missing.*; name a file/],
    ['no module', RUN, () => ({ SERVICE_PROVIDER_MODULE: missing() }), /SERVICE_PROVIDER_MODULE: .*missing/],
    ['no token', [...SERVE, '--token-file=/missing'], () => ({}), /--token-file: .*missing/],
    ['no token to send', [...DISPATCH, '--token-file=/missing'], () => ({}), /--token-file: .*missing/],
    ['an empty token', [...SERVE, '--token-file=/dev/null'], () => ({}), /--token-file: \/dev\/null is empty/],
    [
      'an authority of functions that is none',
      [...DISPATCH, `--ca-file=${COMMAND}`],
      () => ({}),
      /--ca-file: holds no/,
    ],
    [
      'no certificate for metrics',
      [...RUN, '--metrics-bind-address=:0', '--metrics-cert-path=/missing'],
      () => ({}),
      /--metrics-cert-path \/missing: .*tls\.crt/,
    ],
    [
      'an address without a scheme',
      ['publish', '--address=foo:80', '--object=a/b'],
      () => ({}),
      /--address foo:80: expec/,
    ],
  ])('%s', async (_what, args, env, message) => {
    const { code, stderr } = await runCommand([...args, '--provider-name', 'foo'], { ...base, ...env() });
    expect(stderr).toMatch(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(code).toBe(2);
  });
});

/** A kubeconfig whose token is in a file. */
function rotated(of: 'platform' | 'onboarding'): { config: string; token: string } {
  const token = path(`${of}-token`);
  const change = (given: Kubeconfig): void => {
    writeFileSync(token, String(user(given)['token']));
    given.users = given.users.map((each) => ({ ...each, user: { tokenFile: token } }));
  };
  return { config: kubeconfig(`${of}-rotated`, change, of), token };
}

describe('later, a file that can not be read is named, and what it held stays in use', () => {
  test('by a function over HTTP, which takes nothing meanwhile', async () => {
    const [platform, port] = [rotated('platform'), await freePort()];
    const requestToken = file('request-token', 'secret');
    const url = `http://127.0.0.1:${port}`;
    const service = await startProcess({
      name: 'serve',
      command: process.execPath,
      args: [
        COMMAND,
        'serve',
        'resolve-credentials',
        `--token-file=${requestToken}`,
        `--bind-address=127.0.0.1:${port}`,
      ],
      logFile: path('serve.log'),
      cwd: ROOT,
      env: { ...base, KUBECONFIG: platform.config },
      ready: () => answersOk(`${url}/readyz`),
    });
    try {
      for (const [setting, away] of [
        ['KUBECONFIG', platform.token],
        ['--token-file', requestToken],
      ] as const) {
        renameSync(away, `${away}.away`);
        const said = await eventually(`${setting} is named`, async () => {
          const { status } = await fetch(`${url}/readyz`);
          return status === 503 && problemsIn(path('serve.log'));
        });
        expect(said).toMatch(new RegExp(`^${setting}: .*${away}`));
        expect(readFileSync(path('serve.log'), 'utf8')).toMatch(new RegExp(`"level":40.*"problem":"${setting}: `));
        renameSync(`${away}.away`, away);
        await eventually('it is ready again', async () => (await fetch(`${url}/readyz`)).status === 200);
      }
    } finally {
      await service.stop();
    }
  });

  test('by a bridge; and a certificate for metrics is taken once it and its key are there', async () => {
    const onboarding = rotated('onboarding');
    const [first, second] = [selfSignedCertificate('first'), selfSignedCertificate('second')];
    const write = (name: string, text: string): string => file(`tls.${name}`, text);
    write('crt', first.cert);
    write('key', first.key);
    const metrics = `127.0.0.1:${await freePort()}`;
    const service = await startServiceProcess({
      args: ['bridge', `--metrics-bind-address=${metrics}`, `--metrics-cert-path=${stage.landscape.dir}`],
      dir: stage.landscape.dir,
      provider: FOO_MODULE,
      env: { ...base, ONBOARDING_KUBECONFIG: onboarding.config },
    });
    const unready = (what: string) =>
      eventually(what, async () => {
        const { status } = await fetch(service.readyUrl);
        return status === 503 && problemsIn(service.logFile);
      });
    try {
      renameSync(onboarding.token, `${onboarding.token}.away`);
      expect(await unready('the token is named')).toMatch(/^ONBOARDING_KUBECONFIG: /m);
      renameSync(`${onboarding.token}.away`, onboarding.token);
      await eventually('it is ready again', async () => (await fetch(service.readyUrl)).status === 200);

      write('crt', second.cert);
      expect(await unready('the pair is named')).toMatch(/^--metrics-cert-path .*tls\.crt and tls\.key: .*mismatch/m);
      expect(await certificateAt(metrics)).toBe('first');
      write('key', second.key);
      await eventually('it is ready again', async () => (await fetch(service.readyUrl)).status === 200);
      expect(await certificateAt(metrics)).toBe('second');
    } finally {
      await service.stop();
    }
  });
});
