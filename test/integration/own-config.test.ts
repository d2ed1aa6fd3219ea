import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { type KeyPair, selfSignedCertificate } from '../../deploy/command/self-signed.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { openOwnConfig } from '../../shared/kube/own-config.ts';
import { CONFIG_MAPS } from '../../shared/kube/resources.ts';

const MINUTE_AND_A_BIT = 61_000;
const PLUGIN_LIMIT_MS = 1_000;

const open = (kubeconfig: string): Promise<HttpKubeClient> => openOwnConfig({ kubeconfig }, undefined, PLUGIN_LIMIT_MS);

let folder: string;
let server: Server;
/** Who asked, each time. */
let seen: (string | undefined)[];
let accepted: string | undefined;

const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

/** A server that takes one token, or whoever comes where that is undefined, and tells what certificate it was shown. */
async function serve(pair: KeyPair): Promise<string> {
  server = createServer({ ...pair, requestCert: true, rejectUnauthorized: false }, (request, reply) => {
    const shown = (request.socket as TLSSocket).getPeerCertificate().subject?.CN;
    seen.push(request.headers.authorization ?? (shown as string | undefined));
    const denied = accepted !== undefined && request.headers.authorization !== `Bearer ${accepted}`;
    reply.writeHead(denied ? 401 : 200, { 'content-type': 'application/json' });
    reply.end(JSON.stringify(denied ? { kind: 'Status', reason: 'Unauthorized' } : { metadata: {}, items: [] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function kubeconfig(cluster: object, user: object): string {
  return file(
    'kubeconfig',
    stringify({
      'current-context': 'x',
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user }],
    }),
  );
}

/** A program that says the token in a file, and counts how often it is run. */
function plugin(): object {
  const script = file(
    'plugin.sh',
    `#!/bin/sh\necho run >> ${folder}/runs\nif [ -e ${folder}/hang ]; then sleep 600; fi\n` +
      `printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$(cat ${folder}/token)"\n`,
  );
  chmodSync(script, 0o700);
  return { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: script, interactiveMode: 'Never' } };
}
const runs = (): number => readFileSync(join(folder, 'runs'), 'utf8').split('\n').length - 1;

const ask = (client: HttpKubeClient): Promise<string> =>
  client.list(CONFIG_MAPS).then(
    () => 'ok',
    (error: Error) => error.message,
  );
const sinceTheStart = performance.now.bind(performance);
let passed = 0;
const pass = (ms: number): void => {
  passed += ms;
  vi.setSystemTime(Date.now() + ms);
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
  passed = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => sinceTheStart() + passed);
  folder = mkdtempSync(join(tmpdir(), 'own-config-'));
  seen = [];
  accepted = undefined;
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

describe('files are replaced, and nothing is restarted', () => {
  test('the authority of the server', async () => {
    const [before, after] = [selfSignedCertificate('before'), selfSignedCertificate('after')];
    const ca = file('ca.crt', before.cert);
    const client = await openOwnConfig({
      kubeconfig: kubeconfig({ server: await serve(before), 'certificate-authority': ca }, {}),
    });
    expect(await ask(client)).toBe('ok');
    server.setSecureContext(after);
    server.closeAllConnections();
    expect(await ask(client)).not.toBe('ok');
    file('ca.crt', after.cert);
    pass(MINUTE_AND_A_BIT);
    await vi.waitFor(async () => expect(await ask(client)).toBe('ok'));
  });

  test('the client certificate', async () => {
    const pair = selfSignedCertificate('server');
    const user = { 'client-certificate': file('tls.crt', ''), 'client-key': file('tls.key', '') };
    const present = (name: string): void => {
      const { cert, key } = selfSignedCertificate(name);
      file('tls.crt', cert);
      file('tls.key', key);
    };
    present('one');
    const cluster = { server: await serve(pair), 'certificate-authority': file('ca.crt', pair.cert) };
    const client = await openOwnConfig({ kubeconfig: kubeconfig(cluster, user) });
    await ask(client);
    present('two');
    await ask(client);
    pass(MINUTE_AND_A_BIT);
    await vi.waitFor(async () => {
      expect(await ask(client)).toBe('ok');
      expect(seen.at(-1)).toBe('two');
    });
    expect(seen.slice(0, 2)).toEqual(['one', 'one']);
  });

  test('a token in a file that is not taken any more: at once', async () => {
    const pair = selfSignedCertificate('server');
    accepted = 'one';
    const cluster = { server: await serve(pair), 'certificate-authority': file('ca.crt', pair.cert) };
    const client = await openOwnConfig({ kubeconfig: kubeconfig(cluster, { tokenFile: file('token', 'one\n') }) });
    expect(await ask(client)).toBe('ok');
    accepted = 'two';
    file('token', 'two\n');
    expect(await ask(client)).toBe('ok');
    expect(seen).toEqual(['Bearer one', 'Bearer one', 'Bearer two']);
  });

  test('the whole kubeconfig: a token never goes to the server of another reading', async () => {
    const pair = selfSignedCertificate('server');
    const first = await serve(pair);
    const ca = { 'certificate-authority': file('ca.crt', pair.cert) };
    const path = kubeconfig({ server: first, ...ca }, { token: 'one' });
    const client = await openOwnConfig({ kubeconfig: path });
    expect(await ask(client)).toBe('ok');
    const old = server;
    const oldSeen = seen;
    seen = [];
    kubeconfig({ server: await serve(pair), ...ca }, { token: 'two' });
    pass(MINUTE_AND_A_BIT);
    await vi.waitFor(async () => {
      await ask(client);
      expect(seen).toContain('Bearer two');
    });
    old.closeAllConnections();
    old.close();
    expect(oldSeen).not.toContain('Bearer two');
  });
});

describe('a plugin', () => {
  async function withPlugin(): Promise<HttpKubeClient> {
    const pair = selfSignedCertificate('server');
    const cluster = { server: await serve(pair), 'certificate-authority': file('ca.crt', pair.cert) };
    accepted = 'one';
    file('token', 'one');
    return open(kubeconfig(cluster, plugin()));
  }

  test('whose credential has no end is run once, and once more when that is revoked: one 401, one run', async () => {
    const client = await withPlugin();
    for (let count = 0; count < 3; count++) expect(await ask(client)).toBe('ok');
    pass(MINUTE_AND_A_BIT);
    await ask(client);
    expect(runs()).toBe(1);
    accepted = 'two';
    file('token', 'two');
    expect(await Promise.all([ask(client), ask(client), ask(client)])).toEqual(['ok', 'ok', 'ok']);
    expect(runs()).toBe(2);
  });

  test('that gives nothing better is not run again and again', async () => {
    const client = await withPlugin();
    expect(await ask(client)).toBe('ok');
    accepted = 'never';
    for (let count = 0; count < 5; count++) expect(await ask(client)).toMatch(/401/);
    expect(runs()).toBe(2);
  });

  test('that hangs is ended, and tried again later', async () => {
    const client = await withPlugin();
    expect(await ask(client)).toBe('ok');
    accepted = 'two';
    file('token', 'two');
    file('hang', '');
    expect(await ask(client)).toMatch(/401/);
    rmSync(join(folder, 'hang'));
    pass(MINUTE_AND_A_BIT);
    await vi.waitFor(async () => expect(await ask(client)).toBe('ok'), { timeout: 5_000 });
  });

  test('that hangs at the start is an error that names the file', async () => {
    await withPlugin();
    file('hang', '');
    const path = join(folder, 'copy');
    writeFileSync(path, readFileSync(join(folder, 'kubeconfig')));
    await expect(open(path)).rejects.toThrow(`kubeconfig ${path}: the plugin of its user failed`);
  });
});

test('a list of files is refused', async () => {
  await serve(selfSignedCertificate('server'));
  await expect(openOwnConfig({ kubeconfig: '/a:/b' })).rejects.toThrow(
    'kubeconfig /a:/b: lists of files are not supported',
  );
});
