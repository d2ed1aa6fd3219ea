import { randomUUID } from 'node:crypto';
import { formatObjectKey, type ObjectKey, parseObjectKey } from '../model/object-key.ts';
import { UNKNOWN_VERSION_TRIES } from '../tuning.ts';
import type { QueueKeys } from './keys.ts';
import { linkOf, type RedisLink } from './link.ts';
import type { RedisClient } from './redis.ts';
import { type DeliveryScripts, withScripts } from './scripts.ts';

export interface Settlement {
  /** `keep` the object's timer as it is, `clear` it, or let it be due after so many milliseconds. */
  timer: 'keep' | 'clear' | { afterMs: number };
  attempts: 'keep' | 'clear' | 'count';
  /** That the last invocation failed for good, and about what; default: it did not. */
  permanent?: 'keep' | { of: string };
  /** What was begun may still go on: the object stays held for so long, and is free then. */
  heldMs?: number;
}

/** A key that something is due for, with the score that {@link DeliveryState.forget} compares. */
export interface Due {
  key: ObjectKey | undefined;
  member: string;
  score: string;
}

/** An invocation that failed for good. */
export interface PermanentFailure {
  readonly ageMs: number;
  /** What it was about. */
  readonly of: string;
}

/** One life of a server's process, and its time when it was looked at. */
export interface SeenServer {
  readonly run: string;
  readonly at: string;
}

/**
 * Leases, timers, parked objects, attempts and the epoch of one provider in Redis, by whose clock they all go. See the
 * delivery protocol.
 */
export class DeliveryState {
  /** The way to where all this lies. */
  readonly link: RedisLink;
  readonly #redis: RedisClient & DeliveryScripts;
  readonly #keys: QueueKeys;

  constructor(redis: RedisClient, keys: QueueKeys) {
    this.#redis = withScripts(redis);
    this.#keys = keys;
    this.link = linkOf(redis, keys);
  }

  /** A token nobody has used before, also after Redis was rolled back. */
  static token(): string {
    return randomUUID();
  }

  /** True when granted; otherwise the object is parked and will be published again. */
  async acquire(key: ObjectKey, token: string, ttlMs: number): Promise<boolean> {
    const member = formatObjectKey(key);
    const { parked, epoch } = this.#keys;
    return (await this.#redis.acquireLease(this.#keys.lease(member), parked, epoch, member, token, ttlMs)) === 1;
  }

  /** The object's mark in `parked`: higher each time somebody came for it. `undefined` when the lease is lost. */
  async renew(key: ObjectKey, token: string, ttlMs: number): Promise<number | undefined> {
    const member = formatObjectKey(key);
    const parked = await this.#redis.renewLease(this.#keys.lease(member), this.#keys.parked, token, ttlMs, member);
    return parked < 0 ? undefined : parked;
  }

  /** Ends the lease. The object's mark, 0 if nobody came; `undefined`, with nothing changed, when the lease was lost. */
  async settle(key: ObjectKey, token: string, settlement: Settlement): Promise<number | undefined> {
    const member = formatObjectKey(key);
    const { timer, permanent = 'clear' } = settlement;
    const parked = await this.#redis.settleLease(
      this.#keys.lease(member),
      this.#keys.parked,
      this.#keys.timers,
      this.#keys.attempts,
      this.#keys.permanent,
      member,
      token,
      typeof timer === 'string' ? timer : Math.ceil(timer.afterMs),
      settlement.attempts,
      Math.ceil(settlement.heldMs ?? 0),
      typeof permanent === 'string' ? permanent : `of ${permanent.of}`,
    );
    return parked < 0 ? undefined : parked;
  }

  async attempts(key: ObjectKey): Promise<number> {
    return Number((await this.#redis.hget(this.#keys.attempts, formatObjectKey(key))) ?? 0);
  }

  /** By object. Those that are older are forgotten. */
  async permanentFailures(limitMs: number): Promise<Map<string, PermanentFailure>> {
    const flat = await this.#redis.permanentFailures(this.#keys.permanent, limitMs);
    const failures = new Map<string, PermanentFailure>();
    for (let index = 0; index + 2 < flat.length; index += 3)
      failures.set(flat[index] as string, { ageMs: Number(flat[index + 1]), of: flat[index + 2] as string });
    return failures;
  }

  /** How many objects have a timer, are parked, or failed last time; for metrics. */
  async sizes(): Promise<{ timers: number; parked: number; failing: number }> {
    const { timers, parked, attempts } = this.#keys;
    const sizes = await Promise.all([this.#redis.zcard(timers), this.#redis.zcard(parked), this.#redis.hlen(attempts)]);
    return { timers: sizes[0], parked: sizes[1], failing: sizes[2] };
  }

  /**
   * An object whose event this process does not know is looked at again: by its timer, or when its holder lets it go.
   * @returns false, with nothing done, once that was so often in a row that nobody seems to know the event; at most one in
   * two is false
   */
  async handBack(key: ObjectKey, afterMs: number): Promise<boolean> {
    const member = formatObjectKey(key);
    const { parked, timers } = this.#keys;
    const keys = [this.#keys.unknown(member), this.#keys.lease(member), parked, timers] as const;
    return (await this.#redis.handBack(...keys, member, Math.ceil(afterMs), UNKNOWN_VERSION_TRIES, 6 * afterMs)) === 1;
  }

  /** An object for which there is no place is looked at again: by its timer, or when its holder lets it go. */
  async lookAgain(key: ObjectKey, afterMs: number): Promise<void> {
    const member = formatObjectKey(key);
    const { parked, timers } = this.#keys;
    await this.#redis.lookAgain(this.#keys.lease(member), parked, timers, member, Math.ceil(afterMs));
  }

  /** Those whose time has come, the oldest first. */
  async dueTimers(limit: number): Promise<Due[]> {
    return pairs(await this.#redis.dueTimers(this.#keys.timers, limit));
  }

  /** Parked objects that nobody holds any more. */
  async releasedParked(limit: number): Promise<Due[]> {
    const parked = pairs(await this.#redis.zrange(this.#keys.parked, 0, String(limit - 1), 'WITHSCORES'));
    if (parked.length === 0) return [];
    const held = await Promise.all(parked.map((due) => this.#redis.exists(this.#keys.lease(due.member))));
    return parked.filter((_, index) => held[index] === 0);
  }

  async forgetTimer(due: Due): Promise<void> {
    await this.#redis.forgetMember(this.#keys.timers, due.member, due.score);
  }

  /** Only after the object was published; a mark of later stays. */
  async forgetParked(due: Due): Promise<void> {
    await this.#redis.forgetMember(this.#keys.parked, due.member, due.score);
  }

  /** The epoch's id, and whether it was begun on the server that answers now. */
  async readEpoch(): Promise<{ id: string; sameServer: boolean }> {
    const [id, same] = await this.#redis.readEpoch(this.#keys.epoch);
    return { id, sameServer: same === 1 };
  }

  /** The server that answers now; undefined where it can't be told from others. */
  async readServer(): Promise<SeenServer | undefined> {
    const [run, at] = await this.#redis.readServer(this.#keys.epoch);
    return run === '' ? undefined : { run, at };
  }

  /**
   * The first epoch of all, without a pause.
   * @param seen the server, as it was looked at before it was known that this is the first
   * @returns undefined, with nothing done, where it is too late for that
   */
  async beginFirstEpoch(seen: SeenServer, longestLeaseMs: number): Promise<string | undefined> {
    const id = randomUUID();
    const begun = await this.#redis.beginFirst(this.#keys.epoch, id, seen.run, seen.at, longestLeaseMs);
    return begun === 1 ? id : undefined;
  }

  /** Nothing is granted until the longest lease of before has surely ended. */
  async beginEpoch(longestLeaseMs: number): Promise<string> {
    const id = randomUUID();
    await this.#redis.beginEpoch(this.#keys.epoch, id, longestLeaseMs);
    return id;
  }
}

function pairs(flat: string[]): Due[] {
  const result: Due[] = [];
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const member = flat[index] as string;
    result.push({ key: parseObjectKey(member), member, score: flat[index + 1] as string });
  }
  return result;
}
