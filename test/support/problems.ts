import { readFileSync } from 'node:fs';

/** Why a process was not ready when it was asked last, a line each, from its log: `/readyz` tells it to whoever may read metrics. */
export function problemsIn(logFile: string): string {
  const said = readFileSync(logFile, 'utf8')
    .split('\n')
    .findLast((line) => line.includes('"msg":"not ready"'));
  return said === undefined ? '' : (JSON.parse(said) as { problems: string[] }).problems.join('\n');
}
