import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../../..');
/** What users, authors and contributors read. */
export const DOCS = [
  'README.md',
  'CONTRIBUTING.md',
  'deploy/README.md',
  'shared/provider/README.md',
  'shared/provider/FROM-GO.md',
] as const;

export function textOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** The fenced blocks of one language, with the line at which each begins. */
export function blocksOf(text: string, language: string): { line: number; code: string }[] {
  const blocks = text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'));
  return [...blocks].map((block) => ({
    line: text.slice(0, block.index).split('\n').length,
    code: block[1] as string,
  }));
}

/** A text without its fenced blocks. */
export function withoutBlocks(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, '');
}

/** What stands in backticks. */
export function codeIn(text: string): string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code as string);
}

/** The cells of the first table under a heading, without its head. */
export function tableUnder(text: string, heading: string): string[][] {
  const start = text.split('\n').findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading);
  if (start < 0) throw new Error(`there is no heading "${heading}"`);
  const lines = text.split('\n').slice(start + 1);
  const end = lines.findIndex((line) => line.startsWith('#'));
  const rows = (end < 0 ? lines : lines.slice(0, end)).filter((line) => line.startsWith('|')).slice(2);
  if (rows.length === 0) throw new Error(`there is no table under "${heading}"`);
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}
