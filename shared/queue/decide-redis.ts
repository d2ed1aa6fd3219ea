/** Pure: whether a Redis can be trusted with work, by what it says of itself and what it refuses. */

/** As in BullMQ's own recommendation. */
const OLDEST_VERSION = [6, 2] as const;

/** What is known of one server; a service may hide all of it. */
export interface ServerFacts {
  version?: string | undefined;
  /** `maxmemory-policy` */
  policy?: string | undefined;
}

/** Reads the answer to `INFO`. */
export function factsOf(info: string): ServerFacts {
  const field = (name: string): string | undefined => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
  return { version: field('redis_version'), policy: field('maxmemory_policy') };
}

/** What is wrong with servers of which any may hold the work, each thing once. What they hide is taken as it should be. */
export function serverProblems(servers: readonly ServerFacts[]): string[] {
  return [...new Set(servers.flatMap(({ version, policy }) => [...tooOld(version), ...evicts(policy)]))];
}

/**
 * Any policy but `noeviction` counts, also where `maxmemory` is not set yet: leases and timers would vanish one by one,
 * unnoticed, and two invocations could hold one object.
 */
function evicts(policy: string | undefined): string[] {
  if (policy === undefined || policy === 'noeviction') return [];
  return [`Redis has maxmemory-policy ${policy} and may drop work; set it to noeviction`];
}

function tooOld(version: string | undefined): string[] {
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_VERSION;
  if (!version || major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return [];
  return [`Redis ${version} is too old; use ${OLDEST_VERSION.join('.')} or newer`];
}

/** What an access control list refused. */
export interface Denied {
  /** Unset where the server does not say. */
  command?: string;
  /** Not the command, but one of its keys. */
  keys: boolean;
}

/** Undefined for an error of another kind. Inside of scripts servers name neither command nor key. */
export function deniedBy(message: string): Denied | undefined {
  if (/access (?:a|one of the|at least one of the) keys?/i.test(message)) return { keys: true };
  const named = /no permissions to run the '([^']+)' command/i.exec(message)?.[1];
  if (named !== undefined) return { command: named.toLowerCase(), keys: false };
  if (/\bNOPERM\b/.test(message) || message.includes("can't run this command")) return { keys: false };
  return undefined;
}

/** Pure: all that was refused, in words, with the remedy. @param prefix of the provider's keys */
export function rightsProblems(denied: readonly Denied[], prefix: string): string[] {
  const commands = [...new Set(denied.flatMap(({ command }) => command ?? []))].toSorted();
  const keys = denied.some((each) => each.keys);
  const nameless = denied.some((each) => !each.keys && each.command === undefined) && commands.length === 0;
  return [
    ...(commands.length > 0
      ? [`Redis refuses ${commands.join(', ')}: ACL SETUSER … ${commands.map((name) => `+${name}`).join(' ')}`]
      : []),
    ...(nameless ? ['Redis refuses a command inside of a script: see README.md, rights in Redis'] : []),
    ...(keys ? [`Redis refuses keys of this provider: ACL SETUSER … ~${prefix}:*`] : []),
  ];
}
