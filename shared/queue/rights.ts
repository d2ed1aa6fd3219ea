import type { Denied } from './decide-redis.ts';
import { deniedBy } from './decide-redis.ts';
import type { QueueKeys } from './keys.ts';
import type { RedisClient } from './redis.ts';

/** The scratch key lives for so long, in ms. */
const SCRATCH_MS = 1_000;

/**
 * Every command that BullMQ's scripts and ours use on keys, with arguments of the right number behind the key. The key
 * holds a string meanwhile: most answer with WRONGTYPE and change nothing.
 */
const ON_KEYS: Readonly<Record<string, readonly (string | number)[]>> = {
  set: ['x', 'PX', SCRATCH_MS],
  get: [],
  del: [],
  exists: [],
  persist: [],
  pexpire: [SCRATCH_MS],
  pttl: [],
  incr: [],
  hdel: ['f'],
  hexists: ['f'],
  hget: ['f'],
  hgetall: [],
  hincrby: ['f', 1],
  hlen: [],
  hmget: ['f'],
  hmset: ['f', 'v'],
  hset: ['f', 'v'],
  lindex: [0],
  llen: [],
  lpos: ['x'],
  lpush: ['x'],
  lrange: [0, 0],
  lrem: [1, 'x'],
  ltrim: [0, 0],
  rpop: [],
  rpush: ['x'],
  sadd: ['m'],
  scard: [],
  smembers: [],
  srem: ['m'],
  xadd: ['*', 'f', 'v'],
  xrange: ['-', '+'],
  xtrim: ['MAXLEN', 1],
  zadd: [0, 'm'],
  zcard: [],
  zcount: [0, 0],
  zpopmin: [],
  zrange: [0, 0],
  zrangebyscore: [0, 0],
  zrem: ['m'],
  zremrangebyrank: [0, 0],
  zremrangebyscore: [0, 0],
  zrevrange: [0, 0],
  zrevrangebyscore: [0, 0],
  zscore: ['m'],
};

/** Answers with a row of command and error for each that was refused. A script is refused where the caller would be. */
const TRY_ALL = `
local key = KEYS[1]
local refused = {}
local function try(name, ...)
  local answer = redis.pcall(name, ...)
  if type(answer) == 'table' and answer.err then refused[#refused + 1] = name .. ' ' .. answer.err end
end
redis.pcall('DEL', key)
${Object.entries(ON_KEYS)
  .map(([name, rest]) => `try('${name}', ${['key', ...rest.map((each) => `'${each}'`)].join(', ')})`)
  .join('\n')}
try('rpoplpush', key, key)
try('time')
redis.pcall('SET', key, 'x', 'PX', ${SCRATCH_MS})
return refused
`;

/**
 * Tries every command on a key of its own and tells which are refused, before work is begun: a script that is refused in
 * its middle has done half of what it should.
 * @throws Error what is no refusal, such as a lost connection
 */
export async function deniedCommands(redis: RedisClient, keys: QueueKeys): Promise<Denied[]> {
  const scratch = `${keys.prefix}:rights`;
  const script = await refusal('eval', redis.eval(TRY_ALL, 1, scratch));
  if (!Array.isArray(script)) return script ? [script] : [];
  // These block where they may wait, so not in a script; the key holds a string, at which they fail at once.
  const direct = [
    await refusal('bzpopmin', redis.bzpopmin(scratch, 0.01)),
    await refusal('xread', redis.xread('COUNT', 1, 'STREAMS', scratch, '0')),
    await refusal('evalsha', redis.evalsha('0'.repeat(40), 1, scratch)),
  ];
  const rows = (script as string[]).map((row): Denied | undefined => {
    const [command = '', ...error] = row.split(' ');
    const denied = deniedBy(error.join(' '));
    return denied && (denied.keys ? denied : { command, keys: false });
  });
  return [...rows, ...direct.filter((one) => !Array.isArray(one))].filter((one): one is Denied => one !== undefined);
}

/** What was refused, the answer as it is, or undefined for an error that has nothing to do with rights. */
async function refusal(command: string, answer: Promise<unknown>): Promise<Denied | unknown[] | undefined> {
  try {
    const value = await answer;
    return Array.isArray(value) ? (value as unknown[]) : undefined;
  } catch (error) {
    const { message } = error as Error;
    const denied = deniedBy(message);
    if (denied) return denied.keys ? denied : { command: denied.command ?? command, keys: false };
    // An answer of the server: the command was let through.
    if (/^(WRONGTYPE|NOSCRIPT|ERR)/.test(message)) return undefined;
    throw error;
  }
}
