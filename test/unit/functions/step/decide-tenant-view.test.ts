import { describe, expect, test } from 'vitest';
import { forTenants, type TenantView } from '../../../../functions/step/decide-tenant-view.ts';
import { tenantError } from '../../../../functions/step/decide-tenant-error.ts';
import { PermanentError, RuntimeError } from '../../../../shared/errors.ts';
import { ApiError } from '../../../../shared/kube/api-error.ts';
import { reportProgressing, type StatusReport } from '../../../../shared/status.ts';

const VIEW: TenantView = {
  uid: 'uid-1',
  internal: {
    servers: new Map([
      ['https://api.platform.example.com:6443', 'the platform cluster'],
      ['https://api.platform.example.com:6443/clusters/workload', 'the workload cluster'],
    ]),
    namespaces: new Set(['foo-system']),
  },
  secrets: new Set(['s3cr3t-canary']),
};
const CANARIES = /platform\.example|10\.0\.0\.1|foo-system|serviceaccount:|s3cr3t/;

const report = (more: Partial<StatusReport>): StatusReport => ({
  ...reportProgressing('Trying', 'm'),
  words: 'author',
  ...more,
});

describe('all of a report passes', () => {
  test('messages, and a reason that is no word any more', () => {
    const { report: shown, kept } = forTenants(
      report({
        conditions: [
          { type: 'A', status: 'False', reason: 'Trying', message: 'at https://api.platform.example.com:6443/api' },
          { type: 'B', status: 'True', reason: 's3cr3t-canary', message: 'with s3cr3t-canary in Secret foo-system/x' },
          { type: 'C', status: 'True', reason: 'Fine', message: 'see https://docs.example.org' },
        ],
      }),
      VIEW,
    );
    expect(JSON.stringify(shown)).not.toMatch(CANARIES);
    const reference = kept[0]?.reference;
    expect(reference).toMatch(/^[a-z2-7]{8}$/);
    expect(shown.conditions.map(({ reason, message }) => [reason, message])).toEqual([
      ['Trying', `at [address] (reference ${reference})`],
      ['ReconcileError', 'with [redacted] in Secret x'],
      ['Fine', 'see https://docs.example.org'],
    ]);
    expect(kept).toEqual([
      { from: 'A', text: 'at https://api.platform.example.com:6443/api', reference },
      { from: 'B', text: 'with [redacted] in Secret foo-system/x', reference: undefined },
    ]);
  });

  test("the provider's own fields, however deep, names included; what else is in them stays what it is", () => {
    const { report: shown } = forTenants(
      report({
        fields: {
          resources: [{ kind: 'ConfigMap', name: 'x', phase: 'Failed', message: 'connect ECONNREFUSED 10.0.0.1:6443' }],
          deep: { a: [{ 'api.platform.example.com': 's3cr3t-canary' }] },
          endpoint: 'https://shop.example.org',
          count: 3,
          at: new Date(0),
          gone: undefined,
          none: null,
        },
      }),
      VIEW,
    );
    expect(JSON.stringify(shown)).not.toMatch(CANARIES);
    expect(shown.fields).toEqual({
      resources: [{ kind: 'ConfigMap', name: 'x', phase: 'Failed', message: 'connect ECONNREFUSED [address]' }],
      deep: { a: [{ '[address]': '[redacted]' }] },
      endpoint: 'https://shop.example.org',
      count: 3,
      at: '1970-01-01T00:00:00.000Z',
      gone: undefined,
      none: null,
    });
  });

  test('what passed once passes unchanged: nothing is written again', () => {
    const once = forTenants(report({ conditions: reportProgressing('X', 'at 10.0.0.1:6443').conditions }), VIEW).report;
    expect(forTenants(once, VIEW)).toEqual({ report: once, kept: [] });
  });
});

describe('an error is a short cause, with a reference to the whole of it', () => {
  const server = 'https://api.platform.example.com:6443';
  const denied =
    'secrets "x" is forbidden: User "system:serviceaccount:foo-system:foo" cannot get resource "secrets" in API group "" in the namespace "foo-system"';
  const refused = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:6443'), { code: 'ECONNREFUSED' });
  const slow = Object.assign(new Error('aborted'), { name: 'TimeoutError' });
  const untrusted = Object.assign(new Error('self-signed'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  const api = (status: number, message: string, cause?: Error, at = server) =>
    new ApiError(`GET ${at}/api`, status, { message }, { cause, server: at });

  test.each<[string, Error, string]>([
    ['no answer', api(0, refused.message, refused), "the platform cluster's API server can't be reached"],
    ['no answer in time', api(0, slow.message, slow), "the platform cluster's API server did not answer in time"],
    [
      'a certificate',
      api(0, untrusted.message, untrusted),
      "the platform cluster's API server has a certificate that is not trusted",
    ],
    ['401', api(401, 'Unauthorized'), 'the platform cluster does not accept the credentials'],
    ['403', api(403, denied), 'access to the platform cluster was denied: cannot get secrets'],
    [
      '403 of the longest address that is known',
      api(403, denied, undefined, `${server}/clusters/workload`),
      'access to the workload cluster was denied: cannot get secrets',
    ],
    [
      'a server that nobody knows',
      api(401, '', undefined, 'https://10.0.0.1'),
      'a cluster does not accept the credentials',
    ],
  ])('%s', (_what, error, words) => {
    const { text, reference } = tenantError(error, VIEW);
    expect(text).toBe(`${words} (reference ${reference})`);
    expect(tenantError(error, VIEW).reference).toBe(reference);
    expect(text).not.toMatch(CANARIES);
  });

  test.each<[string, Error, string]>([
    ['422', api(422, 'spec.x: Invalid value'), 'the platform cluster answers 422: spec.x: Invalid value'],
    ['an error of the provider', new Error('quota exceeded'), 'quota exceeded'],
    ['a permanent one', new PermanentError('see https://docs.example.org'), 'see https://docs.example.org'],
    ['one of ours', new RuntimeError('NOT_READY', 'Secret foo-system/x does not exist'), 'Secret x does not exist'],
  ])('without a reference, where nothing is missing: %s', (_what, error, words) => {
    expect(tenantError(error, VIEW)).toEqual({ text: words });
  });

  test('one that was wrapped', () => {
    const { text } = tenantError(new Error(`install: ${api(403, denied).message}`), VIEW);
    expect(text).toMatch(/^install: GET \[address\]: 403 secrets "x" is forbidden: User "\[account\]" cannot get/);
    expect(text).not.toMatch(CANARIES);
  });
});
