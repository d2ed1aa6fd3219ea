import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { parseBindAddress } from '../../../../deploy/command/bind-address.ts';
import { listenOn } from '../../../../functions/host/listen.ts';
import { plainFastify } from '../../../../functions/host/plain-fastify.ts';

const app = plainFastify();
afterEach(() => app.close());

test('an address without a host answers on IPv4 and on IPv6', async () => {
  app.get('/healthz', () => 'ok');
  await listenOn(app, parseBindAddress(':0') ?? { host: '', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  for (const host of ['127.0.0.1', '[::1]'])
    expect(await (await fetch(`http://${host}:${port}/healthz`)).text()).toBe('ok');
});

/** A machine on which listening at some address fails. */
function machine(...lacks: [host: string, code: string][]) {
  const tried: string[] = [];
  return {
    tried,
    listen: ({ host }: { host: string }) => {
      tried.push(host);
      const code = new Map(lacks).get(host);
      return code === undefined ? Promise.resolve('') : Promise.reject(Object.assign(new Error(code), { code }));
    },
  };
}

test.each(['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL'])('where there is no IPv6 (%s), on IPv4', async (code) => {
  const without = machine(['::', code]);
  await listenOn(without, { host: '::', port: 8081 });
  expect(without.tried).toEqual(['::', '0.0.0.0']);
});

test.each([
  ['::', 'EADDRINUSE'],
  ['::1', 'EADDRNOTAVAIL'],
])('at %s, any other fault stays one (%s)', async (host, code) => {
  const other = machine([host, code]);
  await expect(listenOn(other, { host, port: 8081 })).rejects.toThrow(code);
  expect(other.tried).toEqual([host]);
});
