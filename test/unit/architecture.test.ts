import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const files = (...patterns: string[]): string[] => globSync(patterns, { cwd: ROOT }).sort();
const source = (file: string): string => withoutComments(readFileSync(join(ROOT, file), 'utf8'));

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');
}

interface Import {
  readonly from: string;
  /** Gone once types are stripped. `import { type A }` is not: the module is still loaded. */
  readonly typeOnly: boolean;
}

function importsOf(text: string): Import[] {
  const statements = text.matchAll(/^\s*(?:import|export)\s+(type\s+(?!from\b))?[^'";]*?\bfrom\s*['"]([^'"]+)['"]/gm);
  const bare = text.matchAll(/^\s*import\s*['"]([^'"]+)['"]/gm);
  const dynamic = text.matchAll(/\b(?:import|require)\(\s*['"]([^'"]+)['"]/g);
  return [
    ...[...statements].map(([, type, from]) => ({ from: from as string, typeOnly: type !== undefined })),
    ...[...bare, ...dynamic].map(([, from]) => ({ from: from as string, typeOnly: false })),
  ];
}

/** Path from the root for a file of ours, else the name of the package as it is. */
function target(file: string, from: string): string {
  return from.startsWith('.') ? relative(ROOT, join(ROOT, dirname(file), from)) : from;
}

/** Chains of imports that lead from a file to a package, e.g. `a.ts > b.ts > undici`. */
function packagesOf(file: string, before: readonly string[] = [], seen = new Set<string>()): string[] {
  seen.add(file);
  return importsOf(source(file))
    .filter(({ typeOnly }) => !typeOnly)
    .map(({ from }) => target(file, from))
    .filter((next) => !seen.has(next))
    .flatMap((next) => {
      const chain = [...before, file];
      return existsSync(join(ROOT, next)) ? packagesOf(next, chain, seen) : [[...chain, next].join(' > ')];
    });
}

const PURE = files(
  '{functions,bridge,shared}/**/decide*.ts',
  'bridge/**/{*relevance,seen*,part,decision,control-plane-index,object-of-request,secret-index,owner-index,to-events,outbox}.ts',
  'shared/{model,events}/**/*.ts',
  'shared/{status,finalizers,conceal,redact,names,errors,tuning}.ts',
  'shared/kcp/{compatibility,missing-claims,claims}.ts',
  'functions/step/{flow,marks,verdict,precondition}.ts',
  'functions/resolve-credentials/winner.ts',
  'functions/host/{settle,dispatcher-times}.ts',
  'functions/requests/{desired,ownership}.ts',
  'functions/workspace/objects.ts',
);
/** None of them reaches anything outside the process. */
const PURE_PACKAGES: ReadonlySet<string> = new Set(['node:crypto', 'cloudevents', 'zod']);

describe('imports are read as Node reads them', () => {
  test.each([
    ["import { a } from 'x';", false],
    ["import {\n  a,\n  type B,\n} from 'x';", false],
    ["import { type B } from 'x';", false],
    ["import 'x';", false],
    ["export * from 'x';", false],
    ["export { a } from 'x';", false],
    ["const a = await import('x');", false],
    ["import type from 'x';", false],
    ["import type { B } from 'x';", true],
    ["import type B from 'x';", true],
    ["export type { B } from 'x';", true],
  ])('%s', (text, typeOnly) => {
    expect(importsOf(text)).toEqual([{ from: 'x', typeOnly }]);
  });

  test('also several after each other, and none in a comment', () => {
    expect(importsOf("import type { A } from 'x';\nimport { b } from 'y';\nconst from = 'z';")).toEqual([
      { from: 'x', typeOnly: true },
      { from: 'y', typeOnly: false },
    ]);
    expect(importsOf(withoutComments("// import 'x';\n/* import 'y'; */"))).toEqual([]);
  });

  test('over more than one step', () => {
    const [chain] = packagesOf('functions/requests/requests.ts').filter((each) => each.endsWith('> node:crypto'));
    expect(chain).toMatch(/^functions\/requests\/requests\.ts > .*shared\/names\.ts > node:crypto$/);
    expect(packagesOf('bridge/upkeep/duties.ts')).toContain(
      'bridge/upkeep/duties.ts > bridge/upkeep/repeat.ts > node:timers/promises',
    );
  });
});

describe('the deciding code', () => {
  test('is all there', () => {
    for (const file of [
      'functions/requests/decide-request.ts',
      'functions/requests/desired.ts',
      'functions/workspace/decide.ts',
      'functions/provider-install/decide.ts',
      'functions/resolve-credentials/decide.ts',
      'functions/step/flow.ts',
      'functions/step/verdict.ts',
      'functions/host/settle.ts',
      'bridge/upkeep/decide-epoch.ts',
      'bridge/kcp/decide-provision.ts',
      'bridge/objects/relevance.ts',
      'bridge/objects/seen-objects.ts',
      'bridge/requests/request-relevance.ts',
      'bridge/requests/object-of-request.ts',
      'bridge/config/config-relevance.ts',
      'bridge/send/to-events.ts',
      'bridge/watch/seen.ts',
    ])
      expect(PURE).toContain(file);
  });

  test.each(PURE)('%s reaches nothing outside the process', (file) => {
    const reached = packagesOf(file).filter((chain) => !PURE_PACKAGES.has(chain.split(' > ').at(-1) as string));
    expect(reached).toEqual([]);
  });

  test.each(PURE)('%s neither looks at the clock nor throws dice, except for ids', (file) => {
    expect(source(file)).not.toMatch(
      /Date\.now\(|new Date\(\)|performance\.now\(|Math\.random\(|\bfetch\(|setTimeout\(/,
    );
  });
});

/**
 * The rule of the house: what a folder imports stands below it, type imports included. Top to bottom; a file that lies
 * directly in one of the five folders is a place of its own.
 */
const HOUSE: readonly string[] = [
  'deploy/image',
  'deploy/command',

  'bridge/bridge.ts',
  'bridge/kcp',
  'bridge/lead',
  'bridge/upkeep',
  'bridge/config',
  'bridge/requests',
  'bridge/objects',
  'bridge/send',
  'bridge/watch',
  'bridge/part.ts',
  'bridge/tuning.ts',

  'functions/providers/foo',
  'functions/runtime.ts',
  'functions/resolve-credentials',
  'functions/provider-install',
  'functions/provider-delete',
  'functions/access-teardown',
  'functions/provider-call',
  'functions/copies',
  'functions/init',
  'functions/orphans',
  'functions/access',
  'functions/workspace',
  'functions/requests',
  'functions/host',
  'functions/step',
  'functions/tuning.ts',

  'shared/provider',
  'shared/provider/schema',
  'shared/kcp',
  'shared/queue',
  'shared/kube',
  'shared/log.ts',
  'shared/conceal.ts',
  'shared/redact.ts',
  'shared/tuning.ts',
  'shared/status.ts',
  'shared/finalizers.ts',
  'shared/events',
  'shared/names.ts',
  'shared/model',
  'shared/errors.ts',
];

describe('the house', () => {
  const place = (file: string): string => (dirname(file).includes('/') ? dirname(file) : file);
  /** `a/x.ts > b/y.ts` for each import that leaves its place. */
  const imports = files('{deploy,bridge,functions,shared}/**/*.ts').flatMap((file) =>
    importsOf(source(file))
      .map(({ from }) => target(file, from))
      .filter((to) => existsSync(join(ROOT, to)) && place(to) !== place(file))
      .map((to) => ({ file, to })),
  );
  const listed = (found: typeof imports): string[] => found.map(({ file, to }) => `${file} > ${to}`);

  test('has no place that the picture lacks, and none that is empty', () => {
    expect(new Set(files('{deploy,bridge,functions,shared}/**/*.ts').map(place))).toEqual(new Set(HOUSE));
    expect(imports.length).toBeGreaterThan(300);
  });

  test('bridge and functions import shared alone, and only deploy imports both', () => {
    const room = (path: string): string => path.split('/')[0] as string;
    const allowed: Readonly<Record<string, string>> = { bridge: 'shared', functions: 'shared', shared: '' };
    const wrong = imports.filter(({ file, to }) => {
      const only = allowed[room(file)];
      return room(file) !== room(to) && only !== undefined && room(to) !== only;
    });
    expect(listed(wrong)).toEqual([]);
  });

  test('has no import that runs up, hence no circle', () => {
    const up = imports.filter(({ file, to }) => HOUSE.indexOf(place(to)) <= HOUSE.indexOf(place(file)));
    expect(listed(up)).toEqual([]);
  });

  test('an author of a provider comes in by one door', () => {
    const others = files('functions/providers/**/*.ts').flatMap((file) =>
      importsOf(source(file)).filter(({ from }) => from !== 'zod' && from !== 'service-provider-runtime'),
    );
    expect(others).toEqual([]);
    const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { exports: object };
    expect(exports).toEqual({ '.': './shared/provider/index.ts' });
  });

  test('nothing that is shipped imports a test', () => {
    expect(listed(imports.filter(({ to }) => to.startsWith('test/')))).toEqual([]);
  });

  test.each(files('{deploy,bridge,functions,shared,test}/**/*.ts'))('%s has at most 250 lines', (file) => {
    expect(readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1).toBeLessThanOrEqual(250);
  });
});

describe('the environment', () => {
  const READS_ENVIRONMENT = /\bprocess\s*(\?\.|\.|\[\s*['"])\s*env\b|from ['"](node:)?process['"]/;

  test('is read by the command alone', () => {
    const readers = files('{deploy,functions,bridge,shared}/**/*.ts').filter((file) =>
      READS_ENVIRONMENT.test(source(file)),
    );
    expect(readers.length).toBeGreaterThan(0);
    expect(readers.filter((file) => !file.startsWith('deploy/command/'))).toEqual([]);
  });
});
