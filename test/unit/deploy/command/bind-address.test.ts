import { expect, test } from 'vitest';
import { parseBindAddress } from '../../../../deploy/command/bind-address.ts';

test.each([
  [':8081', { host: '::', port: 8081 }],
  ['127.0.0.1:9', { host: '127.0.0.1', port: 9 }],
  ['localhost:65535', { host: 'localhost', port: 65_535 }],
  ['[::1]:8081', { host: '::1', port: 8081 }],
  ['0', undefined],
  ['', undefined],
])('%s is understood as the Go flag', (address, bind) => {
  expect(parseBindAddress(address)).toEqual(bind);
});

test.each(['8081', 'localhost', ':http', 'host:', ':65536'])(
  'a setting that is ignored in silence: %s is refused, since nobody would answer the probes',
  (address) => {
    expect(() => parseBindAddress(address)).toThrow(
      expect.objectContaining({
        code: 'INVALID_SETTINGS',
        message: expect.stringContaining(`--health-probe-bind-address ${address}: expected :8081`) as string,
      }) as Error,
    );
  },
);
