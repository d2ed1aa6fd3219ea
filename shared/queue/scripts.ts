import type { RedisClient } from './redis.ts';

/** The server's `run_id`; nil where a service hides it, and then that part of the epoch is left out. */
const SERVER = `
local function server()
  local info = redis.pcall('INFO', 'server')
  if type(info) ~= 'string' then return nil end
  return string.match(info, 'run_id:(%w+)')
end
`;

/** Redis' own time in ms: timers and leases go by it alone, however wrong the clocks of the processes are. */
const NOW = `
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function due(after_ms)
  return string.format('%.0f', now() + math.floor(after_ms))
end
`;

/**
 * Marks of those who came for an object in vain. The score is the time in µs, and higher at each parking: whoever saw one
 * and removes it by its score never removes a later one.
 */
const PARK = `
local function park(parked, member)
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local before = tonumber(redis.call('ZSCORE', parked, member) or 0)
  redis.call('ZADD', parked, string.format('%.0f', math.max(now, before + 1)), member)
end
`;

/**
 * For an object that could not be worked on here and now. Held: it is parked, since the holder may clear its timer. Free:
 * it gets a timer, unless it has one that comes earlier. A timer that is due is just being published, perhaps as the very
 * event that led here, and will be removed by the score that the publisher saw: it gets another one.
 */
const AGAIN = `${PARK}${NOW}
local function again(lease, parked, timers, member, after_ms)
  if redis.call('EXISTS', lease) == 1 then return park(parked, member) end
  local known = tonumber(redis.call('ZSCORE', timers, member))
  local wanted = due(after_ms)
  if not known or known > tonumber(wanted) or known <= now() then redis.call('ZADD', timers, wanted, member)
  else redis.call('ZADD', timers, string.format('%.0f', known + 1), member) end
end
`;

/**
 * The atomic steps of the delivery protocol. The epoch knows the server: after a failover, a rollback or a wipe its
 * `run_id` differs or the key is gone, and nobody is granted a lease until the bridge has written a new epoch and the
 * longest lease of the old one has surely ended.
 */
const ACQUIRE = `${SERVER}${PARK}${NOW}
local lease, parked, epoch = KEYS[1], KEYS[2], KEYS[3]
local member, token, ttl = ARGV[1], ARGV[2], ARGV[3]
local function granted()
  local known = redis.call('HMGET', epoch, 'run', 'after')
  if not known[1] then return false end
  local run = server()
  if run and known[1] ~= run then return false end
  if now() < tonumber(known[2]) then return false end
  return redis.call('SET', lease, token, 'NX', 'PX', ttl)
end
if granted() then return 1 end
park(parked, member)
return 0
`;

/** Returns the object's mark in `parked`, 0 without one, or -1 when the lease is not ours any more. */
const RENEW = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return tonumber(redis.call('ZSCORE', KEYS[2], ARGV[3]) or 0)
`;

/**
 * Timer, attempts and lease in one step, so that a stale holder can't touch a timer.
 * ARGV: member, token, timer ('keep', 'clear' or in how many ms it is due), attempts ('keep', 'clear' or 'count'), how long the
 * object stays held all the same, in ms, that it failed for good ('keep', 'clear' or 'of ' and what that is about).
 * Returns the object's mark in `parked`, 0 without one, or -1 when the lease is not ours any more.
 */
const SETTLE = `${NOW}
local lease, parked, timers, attempts, permanent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local member, token, timer, attempt, held = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
if redis.call('GET', lease) ~= token then return -1 end
if timer == 'clear' then redis.call('ZREM', timers, member)
elseif timer ~= 'keep' then redis.call('ZADD', timers, due(timer), member) end
if attempt == 'clear' then redis.call('HDEL', attempts, member)
elseif attempt == 'count' then redis.call('HINCRBY', attempts, member, 1) end
if ARGV[6] == 'clear' then redis.call('HDEL', permanent, member)
elseif ARGV[6] ~= 'keep' then redis.call('HSET', permanent, member, due(0) .. ' ' .. string.sub(ARGV[6], 4)) end
if held > 0 then redis.call('PEXPIRE', lease, held) else redis.call('DEL', lease) end
return tonumber(redis.call('ZSCORE', parked, member) or 0)
`;

/** Rows of member, age in ms, and what it is about; forgets those that are older than ARGV[1]. */
const PERMANENT = `${NOW}
local rows, all = {}, redis.call('HGETALL', KEYS[1])
for index = 1, #all, 2 do
  local at, of = string.match(all[index + 1], '^(%d+) (.*)$')
  local age = at and now() - tonumber(at)
  if not age or age > tonumber(ARGV[1]) then redis.call('HDEL', KEYS[1], all[index])
  else
    rows[#rows + 1] = all[index]
    rows[#rows + 1] = string.format('%.0f', math.max(0, age))
    rows[#rows + 1] = of
  end
end
return rows
`;

/** ARGV: member, in how many ms. */
const LOOK_AGAIN = `${AGAIN}
again(KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2])
return 1
`;

/** Timers whose time has come, as member and score, the oldest first. ARGV: how many at most. */
const DUE_TIMERS = `${NOW}
return redis.call('ZRANGEBYSCORE', KEYS[1], 0, due(0), 'WITHSCORES', 'LIMIT', 0, ARGV[1])
`;

/**
 * For an object whose event this process does not know. ARGV: member, in how many ms, how many times in a row that is done,
 * for how long it is remembered in ms. Returns 0 once it was done so often.
 */
const HAND_BACK = `${AGAIN}
local tries, most, memory = KEYS[1], tonumber(ARGV[3]), ARGV[4]
if redis.call('INCR', tries) > most then
  redis.call('SET', tries, most - 1, 'PX', memory)
  return 0
end
redis.call('PEXPIRE', tries, memory)
again(KEYS[2], KEYS[3], KEYS[4], ARGV[1], ARGV[2])
return 1
`;

/** Removes a member whose score is still the one that was seen. */
const FORGET = `
if redis.call('ZSCORE', KEYS[1], ARGV[1]) == ARGV[2] then return redis.call('ZREM', KEYS[1], ARGV[1]) end
return 0
`;

/** Writes a new epoch. ARGV: id, longest lease in ms. Returns { run_id or '', after }. */
const BEGIN_EPOCH = `${SERVER}${NOW}
local run = server() or 'hidden'
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'run', run, 'after', due(ARGV[2]))
return run
`;

/** Returns { id or '', 1 if the epoch belongs to this server }. */
const READ_EPOCH = `${SERVER}
local known = redis.call('HMGET', KEYS[1], 'id', 'run')
local run = server() or 'hidden'
return { known[1] or '', known[2] == run and 1 or 0 }
`;

/** Returns { run_id or '', Redis' time in ms }. */
const READ_SERVER = `${SERVER}${NOW}
return { server() or '', due(0) }
`;

/**
 * Writes the first epoch of all, in which leases are granted at once: only where there is none yet, on the server that was
 * looked at, and so soon after that nobody can have been granted a lease meanwhile, whatever was wiped.
 * ARGV: id, run_id, when it was looked at, longest lease in ms. Returns 1 if it was written.
 */
const BEGIN_FIRST = `${SERVER}${NOW}
local seen, longest = tonumber(ARGV[3]), tonumber(ARGV[4])
if redis.call('EXISTS', KEYS[1]) == 1 or server() ~= ARGV[2] or now() < seen or now() >= seen + longest then return 0 end
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'run', ARGV[2], 'after', due(0))
return 1
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
    permanent: string,
    member: string,
    token: string,
    timer: 'keep' | 'clear' | number,
    attempt: 'keep' | 'clear' | 'count',
    heldMs: number,
    failedForGood: string,
  ): Promise<number>;
  lookAgain(lease: string, parked: string, timers: string, member: string, afterMs: number): Promise<number>;
  permanentFailures(permanent: string, limitMs: number): Promise<string[]>;
  dueTimers(timers: string, limit: number): Promise<string[]>;
  handBack(
    tries: string,
    lease: string,
    parked: string,
    timers: string,
    member: string,
    afterMs: number,
    mostTries: number,
    memoryMs: number,
  ): Promise<number>;
  forgetMember(set: string, member: string, score: string): Promise<number>;
  beginEpoch(epoch: string, id: string, longestLeaseMs: number): Promise<string>;
  readEpoch(epoch: string): Promise<[string, number]>;
  readServer(epoch: string): Promise<[string, string]>;
  beginFirst(epoch: string, id: string, run: string, seenAt: string, longestLeaseMs: number): Promise<number>;
}

export function withScripts(redis: RedisClient): RedisClient & DeliveryScripts {
  redis.defineCommand('acquireLease', { numberOfKeys: 3, lua: ACQUIRE });
  redis.defineCommand('renewLease', { numberOfKeys: 2, lua: RENEW });
  redis.defineCommand('permanentFailures', { numberOfKeys: 1, lua: PERMANENT });
  redis.defineCommand('settleLease', { numberOfKeys: 5, lua: SETTLE });
  redis.defineCommand('lookAgain', { numberOfKeys: 3, lua: LOOK_AGAIN });
  redis.defineCommand('dueTimers', { numberOfKeys: 1, lua: DUE_TIMERS });
  redis.defineCommand('handBack', { numberOfKeys: 4, lua: HAND_BACK });
  redis.defineCommand('forgetMember', { numberOfKeys: 1, lua: FORGET });
  redis.defineCommand('beginEpoch', { numberOfKeys: 1, lua: BEGIN_EPOCH });
  redis.defineCommand('readEpoch', { numberOfKeys: 1, lua: READ_EPOCH });
  redis.defineCommand('readServer', { numberOfKeys: 1, lua: READ_SERVER });
  redis.defineCommand('beginFirst', { numberOfKeys: 1, lua: BEGIN_FIRST });
  return redis as RedisClient & DeliveryScripts;
}
