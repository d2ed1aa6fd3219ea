import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RedisNode } from '../control-planes/redis-servers.ts';

/** The rights that README.md gives to users, so that they are those that are tried here. */
const README = readFileSync(join(import.meta.dirname, '..', '..', 'README.md'), 'utf8');
const LEAST_RIGHTS = rightsIn(/ACL SETUSER <user> on ><password> ([^`]+)```/);
export const MORE_RIGHTS_ON_CLUSTER = rightsIn(/besides `([^`]+)` in a\s+Cluster/);

function rightsIn(pattern: RegExp): string {
  const found = pattern.exec(README)?.[1];
  if (found === undefined) throw new Error(`README.md does not tell the rights in Redis any more: ${String(pattern)}`);
  return found.trim().replaceAll(/\s+/g, ' ');
}

/** Makes a user with no more rights than needed on each of them. */
export function leastUser(
  nodes: readonly RedisNode[],
  provider: string,
  more = '',
): { username: string; password: string } {
  const rights = `${LEAST_RIGHTS.replace('<provider>', provider)} ${more}`.trim().split(' ');
  for (const node of nodes) {
    const answer = node.cli('ACL', 'SETUSER', 'least', 'on', '>secret', ...rights);
    if (answer !== 'OK') throw new Error(`ACL SETUSER: ${answer}`);
  }
  return { username: 'least', password: 'secret' };
}
