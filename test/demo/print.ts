import { styleText } from 'node:util';
import type { DeliveredStep } from '../../functions/host/deliver.ts';
import type { Outcome } from '../../shared/events/outcome.ts';

const started = performance.now();

function seconds(): string {
  return `${((performance.now() - started) / 1000).toFixed(2).padStart(7)} s`;
}

export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function heading(text: string): void {
  say(`\n${styleText('bold', text)}`);
}

/** Shows what is going on and how long it took. */
export async function timed<T>(what: string, work: () => Promise<T>, detail?: (result: T) => string): Promise<T> {
  const begin = performance.now();
  const result = await work();
  const took = `${((performance.now() - begin) / 1000).toFixed(1)} s`;
  say(
    `  ${styleText('green', '✓')} ${what.padEnd(46)} ${took.padStart(7)}  ${styleText('dim', detail?.(result) ?? '')}`,
  );
  return result;
}

/** Generated names are long and tell nobody anything. */
function shorten(text: string): string {
  return text.replaceAll(/\b(mcp|kcp)--([0-9a-f]{4})[0-9a-f-]{32}/g, '$1--$2…');
}

function describe(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'done':
      return outcome.next.length === 0
        ? styleText('green', 'done')
        : `next: ${outcome.next.map((type) => type.split('.').slice(3, -1).join('.')).join(', ')}`;
    case 'again':
      return `${styleText('green', 'done')}, again in ${Math.round(outcome.afterMs / 1000)} s (${outcome.reason})`;
    case 'waiting':
      return styleText('yellow', `waits: ${shorten(outcome.for).replace(/^Waiting for /, '')}`);
    case 'failed':
      return styleText('red', `failed: ${shorten(outcome.message)}`);
  }
}

/** One line a step: event, function, decision, duration. */
export function printStep({ event, functionName, outcome, durationMs }: DeliveredStep): void {
  const { mode, namespace, name } = event.key;
  say(
    [
      styleText('dim', seconds()),
      mode.padEnd(8),
      `${namespace}/${name}`.padEnd(18),
      event.reason.padEnd(22),
      styleText('cyan', functionName.padEnd(19)),
      styleText('dim', `${durationMs.toFixed(0)} ms`.padStart(8)),
      describe(outcome),
    ].join('  '),
  );
}

export function table(rows: string[][]): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of rows) say(`  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('   ')}`.trimEnd());
}
