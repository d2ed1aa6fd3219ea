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
  'bridge/{relevance,request-relevance,config-relevance,fan-out,to-events,outbox}.ts',
  'bridge/seen*.ts',
  'shared/model/**/*.ts',
  'shared/events/**/*.ts',
  'shared/{status,finalizers,redact,names,errors,tuning}.ts',
  'shared/kcp/compatibility.ts',
  'functions/flow.ts',
  'functions/resolve-credentials/winner.ts',
  'functions/host/settle.ts',
  'functions/access/{desired,verdict}.ts',
  'functions/access/workspace/objects.ts',
);
/** Neither reaches anything outside the process. */
const PURE_PACKAGES: ReadonlySet<string> = new Set(['node:crypto', 'cloudevents']);

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
    const [chain] = packagesOf('functions/access/requests.ts').filter((each) => each.endsWith('> node:crypto'));
    expect(chain).toMatch(/^functions\/access\/requests\.ts > .*shared\/names\.ts > node:crypto$/);
    expect(packagesOf('bridge/duties.ts')).toContain('bridge/duties.ts > bridge/repeat.ts > node:timers/promises');
  });
});

describe('the deciding code', () => {
  test('is all there', () => {
    for (const file of [
      'functions/access/decide-request.ts',
      'functions/access/workspace/decide.ts',
      'functions/provider-install/decide.ts',
      'functions/resolve-credentials/decide.ts',
      'functions/flow.ts',
      'functions/host/settle.ts',
      'bridge/decide-epoch.ts',
      'bridge/kcp/decide-provision.ts',
      'bridge/relevance.ts',
      'bridge/request-relevance.ts',
      'bridge/fan-out.ts',
      'bridge/to-events.ts',
      'bridge/seen.ts',
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

describe('between the folders', () => {
  const crossing = (pattern: string, into: RegExp): string[] =>
    files(pattern).flatMap((file) =>
      importsOf(source(file))
        .filter(({ from }) => into.test(target(file, from)))
        .map(({ from, typeOnly }) => `${file} > ${target(file, from)}${typeOnly ? ' (type)' : ''}`),
    );

  test('shared imports nothing of functions or bridge, not even a type', () => {
    expect(files('shared/**/*.ts').length).toBeGreaterThan(20);
    expect(crossing('shared/**/*.ts', /^(functions|bridge)\//)).toEqual([]);
  });

  test('the bridge takes types alone from the functions', () => {
    const taken = crossing('bridge/**/*.ts', /^functions\//);
    expect(taken.length).toBeGreaterThan(0);
    expect(taken.filter((each) => !each.endsWith('(type)'))).toEqual([]);
  });

  test('nothing that is shipped imports a test', () => {
    expect(crossing('{functions,bridge,shared}/**/*.ts', /^test\//)).toEqual([]);
  });
});

describe('the environment', () => {
  const READS_ENVIRONMENT = /\bprocess\s*(\?\.|\.|\[\s*['"])\s*env\b|from ['"](node:)?process['"]/;

  test('is read by the command alone', () => {
    const readers = files('{functions,bridge,shared}/**/*.ts').filter((file) => READS_ENVIRONMENT.test(source(file)));
    expect(readers.length).toBeGreaterThan(0);
    expect(readers.filter((file) => !file.startsWith('functions/cli/'))).toEqual([]);
  });
});
