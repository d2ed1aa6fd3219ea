import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { blocksOf, DOCS, ROOT, textOf } from './markdown.ts';

const EXAMPLES = DOCS.flatMap((doc) =>
  blocksOf(textOf(doc), 'ts').map(({ line, code }) => ({ where: `${doc}:${line}`, code })),
);

/** What the compiler says of the examples; empty when they are right. */
async function problemsOf(examples: readonly { where: string; code: string }[]): Promise<string> {
  // Inside the package, so that its own name leads to it. Not `.ts`: these are no sources of ours.
  const folder = join(import.meta.dirname, `.examples-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  try {
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), include: ['*.mts'] }),
    );
    for (const [index, { where, code }] of examples.entries())
      writeFileSync(join(folder, `${index}.${where.replaceAll(/\W/g, '_')}.mts`), code);
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
  test.each(EXAMPLES)('$where begins with what it imports, and leaves nothing out', ({ code }) => {
    expect(code).toMatch(/^import (type )?\{[^}]*\} from 'service-provider-runtime';/);
    expect(code).not.toMatch(/…|\.\.\.(?![\w([{])/);
  });

  test('are all right for the compiler', { timeout: 60_000 }, async () => {
    expect(EXAMPLES.length).toBeGreaterThan(5);
    expect(await problemsOf(EXAMPLES)).toBe('');
  });

  test('a wrong one would be found', { timeout: 60_000 }, async () => {
    const code = "import { nameHash } from 'service-provider-runtime';\nexport const hash: number = nameHash('a');\n";
    expect(await problemsOf([{ where: 'nowhere:1', code }])).toContain('TS2322');
  });
});
