import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { blocksOf, DOCS, ROOT, textOf } from './markdown.ts';

const EXAMPLES = DOCS.flatMap((doc) =>
  blocksOf(textOf(doc), 'ts').map(({ line, code }) => ({ where: `${doc}:${line}`, code })),
);
/** Those for people who work on the runtime are tests, and lie in the folder of such tests. */
const forContributors = ({ where }: { where: string }): boolean => where.startsWith('CONTRIBUTING');
const FOR_AUTHORS = EXAMPLES.filter((example) => !forContributors(example));

/** What the compiler says of the examples; empty when they are right. */
async function problemsOf(examples: readonly { where: string; code: string }[]): Promise<string> {
  // Inside the package, so that its own name leads to it. Not `.ts`: these are no sources of ours.
  const folder = join(import.meta.dirname, `.examples-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  try {
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        extends: join(ROOT, 'tsconfig.json'),
        include: ['*.mts', join(ROOT, 'test/support/global-setup.ts')],
      }),
    );
    for (const [index, example] of examples.entries()) {
      const from = relative(folder, join(ROOT, 'test/e2e'));
      const code = forContributors(example)
        ? example.code.replaceAll(/ from '(\.[^']*)'/g, (_match, path: string) => ` from '${join(from, path)}'`)
        : example.code;
      writeFileSync(join(folder, `${index}.${example.where.replaceAll(/\W/g, '_')}.mts`), code);
    }
    const tsc = join(ROOT, 'node_modules/.bin/tsc');
    return await promisify(execFile)(tsc, ['-p', folder, '--pretty', 'false']).then(
      () => '',
      (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('examples in the documents', () => {
  test.each(FOR_AUTHORS)('$where begins with what it imports, and leaves nothing out', ({ code }) => {
    expect(code).toMatch(/^import (type )?\{[^}]*\} from 'service-provider-runtime';/);
    expect(code).not.toMatch(/…|\.\.\.(?![\w([{])/);
  });

  test('are all right for the compiler', { timeout: 60_000 }, async () => {
    expect(FOR_AUTHORS.length).toBeGreaterThan(5);
    expect(EXAMPLES.some(forContributors)).toBe(true);
    expect(await problemsOf(EXAMPLES)).toBe('');
  });

  test('a wrong one would be found', { timeout: 60_000 }, async () => {
    const code = "import { nameHash } from 'service-provider-runtime';\nexport const hash: number = nameHash('a');\n";
    expect(await problemsOf([{ where: 'nowhere:1', code }])).toContain('TS2322');
  });
});
