import { X509Certificate } from 'node:crypto';
import { createServer, get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { selfSignedCertificate } from '../../../../deploy/command/self-signed.ts';

test('a certificate of our own making is its own authority and names where it serves', async () => {
  const { key, cert } = selfSignedCertificate('foo');
  const parsed = new X509Certificate(cert);
  expect(parsed.verify(parsed.publicKey)).toBe(true);
  expect(parsed.checkIP('127.0.0.1')).toBe('127.0.0.1');
  expect(parsed.checkHost('localhost')).toBe('localhost');
  expect(parsed.validFromDate.getTime()).toBeLessThan(Date.now());
  expect(parsed.validToDate.getTime()).toBeGreaterThan(Date.now());
  expect(selfSignedCertificate('foo').cert).not.toBe(cert);

  const server = createServer({ key, cert }, (_request, response) => response.end('served'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const body = await new Promise<string>((resolve, reject) => {
    get(`https://127.0.0.1:${port}`, { ca: cert, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve(text));
    }).on('error', reject);
  });
  expect(body).toBe('served');
  await new Promise((resolve) => server.close(resolve));
});
