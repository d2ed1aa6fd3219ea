import { Cluster, type Redis } from 'ioredis';
import { messageOf } from '../errors.ts';
import type { Logger } from '../log.ts';
import { ADMISSION_CHECK_MS, ADMISSION_RETRY_MS } from '../tuning.ts';
import { deniedBy, factsOf, rightsProblems, type ServerFacts, serverProblems } from './decide-redis.ts';
import type { QueueKeys } from './keys.ts';
import { linkOf, type RedisLink } from './link.ts';
import type { RedisClient } from './redis.ts';
import { deniedCommands } from './rights.ts';

/**
 * Whether Redis may be worked with: a server that may drop keys, that is too old, or that refuses a command is refused
 * itself. Until it was looked at, and while it is refused, nothing is taken from its queues and nothing is put there.
 * Looks at each connection, since after a fail-over it is another server, and from time to time.
 */
export class Admission {
  readonly #redis: RedisClient;
  readonly #keys: QueueKeys;
  readonly #link: RedisLink;
  readonly #unfollow: () => void;
  readonly #log: Logger;
  readonly #listeners = new Set<(admitted: boolean) => void>();
  readonly #timer: NodeJS.Timeout;
  #retry: NodeJS.Timeout | undefined;
  #silent: string | undefined;
  #lookedAt = false;
  #problems: readonly string[] = [];
  #look: Promise<void> = Promise.resolve();

  constructor(redis: RedisClient, keys: QueueKeys, log: Logger) {
    this.#redis = redis;
    this.#keys = keys;
    this.#log = log;
    this.#link = linkOf(redis, keys);
    this.#unfollow = this.#link.follow(this.#onChange, () => undefined);
    this.#timer = setInterval(this.#onChange, ADMISSION_CHECK_MS).unref();
  }

  get admitted(): boolean {
    return this.#lookedAt && this.#problems.length === 0;
  }

  /** Why Redis is refused, with the remedy. Empty also while it was not looked at. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** Why the last look found nothing out, such as a server that still loads its data; undefined when it did. */
  get silent(): string | undefined {
    return this.#silent;
  }

  /** Called at once, and whenever that changes. @returns ends it */
  follow(listener: (admitted: boolean) => void): () => void {
    this.#listeners.add(listener);
    listener(this.admitted);
    return () => void this.#listeners.delete(listener);
  }

  /** An error that a command met: what was refused is a problem until a look finds it granted. */
  noticed(error: unknown): void {
    const denied = deniedBy(messageOf(error));
    if (!denied) return;
    this.#decide([...this.#problems, ...rightsProblems([denied], this.#keys.prefix)]);
  }

  /** Looks now, and is through when that is decided. Rejects when Redis can't be asked. */
  look(): Promise<void> {
    const look = this.#look.then(() => this.#lookOnce());
    this.#look = look.then(
      () => void (this.#silent = undefined),
      (error) => void (this.#silent = messageOf(error)),
    );
    return look;
  }

  close(): void {
    clearInterval(this.#timer);
    clearTimeout(this.#retry);
    this.#unfollow();
    this.#listeners.clear();
  }

  readonly #onChange = (): void => {
    clearTimeout(this.#retry);
    // Without a connection there will be a next one.
    if (!this.#link.connected) return;
    this.look().catch(() => {
      clearTimeout(this.#retry);
      this.#retry = setTimeout(this.#onChange, ADMISSION_RETRY_MS).unref();
    });
  };

  async #lookOnce(): Promise<void> {
    // In a Cluster any node may hold the work tomorrow; one that is away holds nothing today.
    const facts = await (this.#redis instanceof Cluster
      ? Promise.all(this.#redis.nodes().map((node) => factsAt(node).catch((): ServerFacts => ({}))))
      : factsAt(this.#redis).then((one) => [one]));
    const denied = await deniedCommands(this.#redis, this.#keys);
    const first = !this.#lookedAt;
    this.#lookedAt = true;
    this.#decide([...serverProblems(facts), ...rightsProblems(denied, this.#keys.prefix)], first);
  }

  #decide(problems: readonly string[], first = false): void {
    const before = this.admitted && !first;
    for (const problem of problems) if (!this.#problems.includes(problem)) this.#log.error(problem);
    if (this.#problems.length > 0 && problems.length === 0) this.#log.info('Redis may be worked with again');
    this.#problems = [...new Set(problems)];
    if (this.admitted !== before) for (const listener of this.#listeners) listener(this.admitted);
  }
}

/** By INFO, else by CONFIG: services hide one or both, and then the server is taken as it should be. */
async function factsAt(redis: Redis): Promise<ServerFacts> {
  const info = await redis.info().catch(rethrowUnlessRefused);
  const facts = info === undefined ? {} : factsOf(info);
  if (facts.policy !== undefined) return facts;
  const config = await redis.config('GET', 'maxmemory-policy').catch(rethrowUnlessRefused);
  return { ...facts, policy: config?.[1] };
}

/** A server that answers with an error is there, and one that does not is not. */
function rethrowUnlessRefused(error: Error): undefined {
  if (deniedBy(error.message) || error.message.startsWith('ERR')) return undefined;
  throw error;
}
