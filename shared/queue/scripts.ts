import type { RedisClient } from './redis.ts';

/** The server's `run_id`; nil where a service hides it, and then that part of the epoch is left out. */
const SERVER = `
local function server()
  local info = redis.pcall('INFO', 'server')
  if type(info) ~= 'string' then return nil end
  return string.match(info, 'run_id:(%w+)')
end
`;

/**
 * The atomic steps of the delivery protocol. The epoch knows the server: after a failover, a rollback or a wipe its
 * `run_id` differs or the key is gone, and nobody is granted a lease until the bridge has written a new epoch and the
 * longest lease of the old one has surely ended.
 */
const ACQUIRE = `${SERVER}
local lease, parked, epoch = KEYS[1], KEYS[2], KEYS[3]
local member, token, ttl = ARGV[1], ARGV[2], ARGV[3]
local function park() redis.call('ZINCRBY', parked, 1, member) return 0 end
local known = redis.call('HMGET', epoch, 'run', 'after')
if not known[1] then return park() end
local run = server()
if run and known[1] ~= run then return park() end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now < tonumber(known[2]) then return park() end
if redis.call('SET', lease, token, 'NX', 'PX', ttl) then return 1 end
return park()
`;

/** Returns how often the object was parked, or -1 when the lease is not ours any more. */
const RENEW = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return tonumber(redis.call('ZSCORE', KEYS[2], ARGV[3]) or 0)
`;

/**
 * Timer, attempts and lease in one step, so that a stale holder can't touch a timer.
 * ARGV: member, token, timer ('keep', 'clear' or a due time in ms), attempts ('keep', 'clear' or 'count'), how long the
 * object stays held all the same, in ms.
 * Returns how often the object was parked, or -1 when the lease is not ours any more.
 */
const SETTLE = `
local lease, parked, timers, attempts = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local member, token, timer, attempt, held = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
if redis.call('GET', lease) ~= token then return -1 end
if timer == 'clear' then redis.call('ZREM', timers, member)
elseif timer ~= 'keep' then redis.call('ZADD', timers, timer, member) end
if attempt == 'clear' then redis.call('HDEL', attempts, member)
elseif attempt == 'count' then redis.call('HINCRBY', attempts, member, 1) end
if held > 0 then redis.call('PEXPIRE', lease, held) else redis.call('DEL', lease) end
return tonumber(redis.call('ZSCORE', parked, member) or 0)
`;

/**
 * For an object whose event this process does not know. Held: it is parked, since the holder may clear its timer. Free:
 * it gets a timer, unless it has an earlier one. ARGV: member, due time in ms, how many times in a row that is done, for
 * how long it is remembered in ms. Returns 0 once it was done so often.
 */
const HAND_BACK = `
local tries, lease, parked, timers = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local member, due, most, memory = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
if redis.call('INCR', tries) > most then
  redis.call('SET', tries, most - 1, 'PX', memory)
  return 0
end
redis.call('PEXPIRE', tries, memory)
if redis.call('EXISTS', lease) == 1 then redis.call('ZINCRBY', parked, 1, member)
else redis.call('ZADD', timers, 'LT', due, member) end
return 1
`;

/** Removes a member whose score is still the one that was seen. */
const FORGET = `
if redis.call('ZSCORE', KEYS[1], ARGV[1]) == ARGV[2] then return redis.call('ZREM', KEYS[1], ARGV[1]) end
return 0
`;

/** Writes a new epoch. ARGV: id, longest lease in ms. Returns { run_id or '', after }. */
const BEGIN_EPOCH = `${SERVER}
local run = server() or 'hidden'
local time = redis.call('TIME')
local after = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[2])
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'run', run, 'after', after)
return run
`;

/** Returns { id or '', 1 if the epoch belongs to this server }. */
const READ_EPOCH = `${SERVER}
local known = redis.call('HMGET', KEYS[1], 'id', 'run')
local run = server() or 'hidden'
return { known[1] or '', known[2] == run and 1 or 0 }
`;

export interface DeliveryScripts {
  acquireLease(
    lease: string,
    parked: string,
    epoch: string,
    member: string,
    token: string,
    ttlMs: number,
  ): Promise<number>;
  renewLease(lease: string, parked: string, token: string, ttlMs: number, member: string): Promise<number>;
  settleLease(
    lease: string,
    parked: string,
    timers: string,
    attempts: string,
    member: string,
    token: string,
    timer: 'keep' | 'clear' | number,
    attempt: 'keep' | 'clear' | 'count',
    heldMs: number,
  ): Promise<number>;
  handBack(
    tries: string,
    lease: string,
    parked: string,
    timers: string,
    member: string,
    due: number,
    mostTries: number,
    memoryMs: number,
  ): Promise<number>;
  forgetMember(set: string, member: string, score: string): Promise<number>;
  beginEpoch(epoch: string, id: string, longestLeaseMs: number): Promise<string>;
  readEpoch(epoch: string): Promise<[string, number]>;
}

export function withScripts(redis: RedisClient): RedisClient & DeliveryScripts {
  redis.defineCommand('acquireLease', { numberOfKeys: 3, lua: ACQUIRE });
  redis.defineCommand('renewLease', { numberOfKeys: 2, lua: RENEW });
  redis.defineCommand('settleLease', { numberOfKeys: 4, lua: SETTLE });
  redis.defineCommand('handBack', { numberOfKeys: 4, lua: HAND_BACK });
  redis.defineCommand('forgetMember', { numberOfKeys: 1, lua: FORGET });
  redis.defineCommand('beginEpoch', { numberOfKeys: 1, lua: BEGIN_EPOCH });
  redis.defineCommand('readEpoch', { numberOfKeys: 1, lua: READ_EPOCH });
  return redis as RedisClient & DeliveryScripts;
}
