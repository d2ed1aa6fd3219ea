import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { codeIn, DOCS, ROOT, textOf, withoutBlocks } from './markdown.ts';

/** Of the end user cluster. */
const OTHER_NAMES = /\b(tenant|user)s?[’']s? (own )?cluster/i;

/** Paths of this repository, also as patterns such as `bridge/kcp/decide-*.ts`. Names in angle brackets stand for any. */
function pathsIn(text: string): string[] {
  return codeIn(text)
    .filter(
      (code) => /^(bridge|deploy|functions|shared|test)\/[^\s:]*$/.test(code) || /^[^\s:()]+\.(ts|md)$/.test(code),
    )
    .map((path) => path.replaceAll(/<[^>]+>/g, '*'));
}

describe.each(DOCS)('%s', (doc) => {
  const text = withoutBlocks(textOf(doc));

  test('names files and folders that exist, in full', () => {
    expect(pathsIn(text).filter((path) => globSync(path, { cwd: ROOT }).length === 0)).toEqual([]);
  });

  test('links to what exists', () => {
    const targets = [...text.matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, target]) => target as string);
    const broken = targets.filter((target) => {
      const [file, anchor] = target.split('#') as [string, string | undefined];
      const path = file === '' ? doc : join(dirname(doc), file);
      if (!existsSync(join(ROOT, path))) return true;
      return anchor !== undefined && !anchorsOf(textOf(path)).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  test('speaks of the end user cluster by that name', () => {
    expect(textOf(doc)).not.toMatch(OTHER_NAMES);
  });
});

test('the sources speak of the end user cluster by that name', () => {
  const sources = globSync('{bridge,deploy,functions,shared}/**/*.ts', { cwd: ROOT });
  expect(sources.filter((file) => OTHER_NAMES.test(textOf(file)))).toEqual([]);
});

/** As GitHub makes them. */
function anchorsOf(text: string): string[] {
  return [...withoutBlocks(text).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    (heading as string)
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );
}

test('CONTRIBUTING.md has the folders in the order of the rule of the house', () => {
  const source = readFileSync(join(ROOT, 'test/unit/architecture.test.ts'), 'utf8');
  const house = /const HOUSE[^=]*=\s*\[([^\]]*)\]/.exec(source)?.[1] ?? '';
  const places = [...house.matchAll(/'([^']+)'/g)].map(([, place]) => place);
  const picture = /^## The rule of the house$([\s\S]*?)^## /m.exec(textOf('CONTRIBUTING.md'))?.[1] ?? '';
  const listed = picture
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .flatMap((row) => codeIn(row.split('|')[1] ?? ''));
  expect(places.length).toBeGreaterThan(20);
  expect(listed).toEqual(places);
});
