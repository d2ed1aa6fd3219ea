import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import pino from 'pino';
import { afterEach, expect, test } from 'vitest';
import { createDispatcher } from '../../../../functions/host/dispatcher.ts';
import { ServerHold } from '../../../../functions/host/server-hold.ts';
import { INSTALL_REQUESTED } from '../../../../shared/events/catalogue.ts';
import { serviceEvent } from '../../../../shared/events/service-event.ts';
import { standardKey } from '../objects.ts';

let server: Server;
const hold = new ServerHold(60_000, 60_000);
afterEach(() => {
  hold.end();
  server.close();
});

test('a function that wants to be asked again after longer than anybody keeps the object gets it back then', async () => {
  let asked = 0;
  server = createServer((_request, reply) => {
    asked += 1;
    reply.writeHead(429, { 'retry-after': '60' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const dispatcher = createDispatcher({
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    runLimitMs: 60_000,
    concurrency: 1,
    log: pino({ level: 'silent' }),
  });
  const event = serviceEvent(INSTALL_REQUESTED, standardKey, { reason: 'Changed' });
  expect(await dispatcher.invoke(event, hold)).toMatchObject({ kind: 'again', afterMs: 60_000 });
  expect(asked).toBe(1);
  await dispatcher.close();
});
