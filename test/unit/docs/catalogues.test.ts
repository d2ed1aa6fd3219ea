import { globSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  contested,
  endpoints,
  held,
  notProvisioned,
  provisioned,
  statusProtected,
} from '../../../bridge/config/decide-config-status.ts';
import { createMetrics } from '../../../deploy/command/metrics.ts';
import { ENVIRONMENT_VARIABLES, parseEnvironment } from '../../../deploy/command/settings.ts';
import { REASONS_BEFORE_INSTALL } from '../../../functions/step/flow.ts';
import { ERROR_CATALOGUE, type ErrorCode, RuntimeError } from '../../../shared/errors.ts';
import { RECEIVER } from '../../../shared/events/catalogue.ts';
import { ApiError } from '../../../shared/kube/api-error.ts';
import { parseGoDuration } from '../../../shared/model/duration.ts';
import { CONDITION_DELETION_BLOCKED, REASON_RESOURCES_EXIST } from '../../../shared/provider/decide-blocked.ts';
import {
  REASON_RECONCILE_ERROR,
  REASON_RECONCILE_SUCCESS,
  REASON_TERMINATING,
  RUNTIME_CONDITIONS,
} from '../../../shared/status.ts';
import { codeIn, ROOT, tableUnder, textOf } from './markdown.ts';

const README = textOf('README.md');
const table = (heading: string): string[][] => tableUnder(README, heading);
/** What one column has in backticks, from top to bottom. */
const column = (heading: string, index: number): string[] => table(heading).flatMap((row) => codeIn(row[index] ?? ''));
const unique = (names: Iterable<string>): string[] => [...new Set(names)].toSorted();

/** Reasons that the code writes as plain texts. Those of events and of HTTP answers are not on any object. */
function literals(pattern: RegExp): string[] {
  const files = globSync(['functions/**/*.ts', 'shared/**/*.ts'], {
    cwd: ROOT,
    exclude: ['functions/host/**', 'shared/kube/**'],
  });
  return files.flatMap((file) => [...textOf(file).matchAll(pattern)].map(([, reason]) => reason as string));
}

describe('README.md lists exactly', () => {
  test('the reasons of Ready', () => {
    const expected = [
      ...Object.values(REASONS_BEFORE_INSTALL),
      REASON_RECONCILE_SUCCESS,
      REASON_RECONCILE_ERROR,
      REASON_TERMINATING,
      CONDITION_DELETION_BLOCKED,
      ...literals(/\breport(?:NotReady|Progressing|Terminating)\(\s*(?:object,\s*)?'(\w+)'/g),
    ];
    expect(
      column('Reasons of Ready', 0)
        .filter((name) => name !== 'access.clusters')
        .toSorted(),
    ).toEqual(unique(expected));
  });

  test('the other conditions of an object', () => {
    const ours = RUNTIME_CONDITIONS.filter((type) => type !== 'Ready');
    expect(unique(column('Other conditions of the object', 0))).toEqual(unique([...ours, CONDITION_DELETION_BLOCKED]));
    const reasons = [
      REASON_RESOURCES_EXIST,
      ...literals(/\breason: '(\w+)'/g),
      ...literals(/\breportUninstalled\(\s*'(\w+)'/g),
    ];
    expect(unique(column('Other conditions of the object', 1))).toEqual(unique(reasons));
  });

  test('the conditions of the ProviderConfig', () => {
    const codes = Object.keys(ERROR_CATALOGUE) as ErrorCode[];
    const errors = [
      ...codes.map((code) => new RuntimeError(code, code)),
      new ApiError('GET', 403, {}),
      new ApiError('GET', 0, {}),
      new Error('anything else'),
    ];
    const conditions = [
      provisioned(),
      contested('x', ['y']),
      held({ providerWorkspace: 'x' }, 1),
      ...errors.map(notProvisioned),
      endpoints(0),
      endpoints(1),
      statusProtected(undefined),
      statusProtected('why'),
    ];
    expect(
      unique(table('Conditions of the ProviderConfig').map((row) => codeIn(row.slice(0, 3).join()).join())),
    ).toEqual(unique(conditions.map(({ type, status, reason }) => [type, status, reason].join())));
  });

  test('the environment variables, with their defaults', () => {
    const documented = table('Environment variables').map(([names = '', preset = '']) => ({
      names: codeIn(names),
      preset: codeIn(preset)[0],
    }));
    expect(documented.flatMap(({ names }) => names).toSorted()).toEqual(unique(ENVIRONMENT_VARIABLES));
    const defaults = Object.entries(parseEnvironment({}, { redis: false }));
    const shown = documented.flatMap(({ names, preset }) =>
      preset === undefined ? [] : names.map((name): [string, unknown] => [name, preset]),
    );
    const asText = ([name, value]: [string, unknown]): string => {
      const one: unknown = value instanceof Map ? value.get('') : value;
      const ms = typeof one === 'string' ? (parseGoDuration(one) ?? one) : one;
      return `${name}=${String(ms)}`;
    };
    expect(shown.map(asText).toSorted()).toEqual(defaults.map(asText).toSorted());
  });

  test('the flags', () => {
    const source = textOf('deploy/command/main.ts');
    const flags = [...source.matchAll(/\.(?:requiredO|o)ption\(\s*'--([a-z-]+)|\bflag\('([a-z-]+)'/g)];
    expect(column('Flags', 0).toSorted()).toEqual(unique(flags.map(([, plain, bool]) => `--${plain ?? bool}`)));
  });

  test('the metrics, with their labels', async () => {
    const metrics = createMetrics('foo');
    metrics.watch(() => Promise.resolve({ queue: undefined, bridge: undefined }));
    const text = await metrics.text();
    const names = [...text.matchAll(/^# TYPE (service_provider_\w+) /gm)].map(([, name]) => name as string);
    expect(column('Metrics', 0).toSorted()).toEqual(unique(names));
  });

  test('the errors, and which are permanent', () => {
    const documented = table('Errors').map(([code = '', permanent]) => [codeIn(code)[0], permanent]);
    expect(Object.fromEntries(documented)).toEqual(
      Object.fromEntries(
        Object.entries(ERROR_CATALOGUE).map(([code, { permanent }]) => [code, permanent ? 'yes' : 'no']),
      ),
    );
  });

  test('the events, and who receives them', () => {
    const prefix = 'io.open-control-plane.serviceprovider.';
    const documented = table('Events').map(([type = '', to = '']) => [prefix + codeIn(type)[0], codeIn(to)[0]]);
    expect(Object.fromEntries(documented)).toEqual(RECEIVER);
    expect(README).toContain(prefix);
  });
});
