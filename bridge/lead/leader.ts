import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { messageOf } from '../../shared/errors.ts';
import { isConflict } from '../../shared/kube/api-error.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { LEASES } from '../../shared/kube/resources.ts';
import type { KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { leaderStep, leaseFor, type LeaseSpec, observe, type Observation } from './decide-leader.ts';
import type { Part } from '../part.ts';
import { LEAVE_GRACE_MS } from '../tuning.ts';
import { repeat } from '../upkeep/repeat.ts';

type Lease = KubeObjectOf<{ spec: LeaseSpec }>;

/** Replicas choose one of them for each mode; without it, this process leads. */
export interface LeaderElection {
  /** Where the Leases are: the provider's own namespace. */
  namespace: string;
  /** Another one in each replica. */
  identity: string;
}

export interface LeaderOptions {
  platform: Pick<KubeClient, 'get' | 'create' | 'mergePatch'>;
  /** Of the Lease. */
  name: string;
  namespace: string;
  /** Who we are; another one in each replica. */
  identity: string;
  leaseMs: number;
  log: Logger;
  onChange: (leads: boolean) => void;
}

/**
 * Takes part in the choice of a leader by a Lease on the platform cluster. This saves doubled work and nothing else: two
 * leaders for a while do no harm. So whoever leads and can't reach the platform cluster goes on, and gives way only when
 * it reads that another one has taken over.
 */
export class Leader {
  readonly #options: LeaderOptions;
  readonly #stopped = new AbortController();
  #observed: Observation | undefined;
  #leads = false;
  #running: Promise<void> | undefined;

  constructor(options: LeaderOptions) {
    this.#options = options;
  }

  get leads(): boolean {
    return this.#leads;
  }

  start(): void {
    const { name, leaseMs, log } = this.#options;
    this.#running ??= repeat(`lease ${name}`, leaseMs / 5, () => this.#tick(), { signal: this.#stopped.signal, log });
  }

  /**
   * Gives the lead up, so that another replica need not wait for the end of the Lease. A server that does not answer holds
   * up the end of the process for {@link LEAVE_GRACE_MS} at most.
   */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.race([this.#leave(), sleep(LEAVE_GRACE_MS, undefined, { ref: false })]);
  }

  async #leave(): Promise<void> {
    await this.#running;
    if (!this.#leads) return;
    this.#become(false);
    await this.#release().catch((error: unknown) => {
      this.#options.log.debug({ problem: messageOf(error) }, 'the lead ends with its Lease');
    });
  }

  async #tick(): Promise<void> {
    const { platform, name, namespace, identity, leaseMs } = this.#options;
    const lease = await platform.get<Lease>(LEASES, name, namespace);
    const now = Date.now();
    this.#observed = lease && observe(this.#observed, lease.spec, now, leaseMs / 2);
    const step = leaderStep(this.#observed, identity, now);
    if (step === 'follow') return this.#become(false);
    const spec = leaseFor(step, { before: lease?.spec, me: identity, seconds: Math.ceil(leaseMs / 1000), now });
    try {
      if (!lease) await platform.create<Lease>(LEASES, { metadata: { name, namespace }, spec });
      else await this.#patch(lease, spec);
    } catch (error) {
      // Another replica was faster; the next look tells.
      if (!isConflict(error)) throw error;
      return;
    }
    this.#become(true);
  }

  async #release(): Promise<void> {
    const { platform, name, namespace, identity } = this.#options;
    const lease = await platform.get<Lease>(LEASES, name, namespace);
    if (lease?.spec.holderIdentity === identity) await this.#patch(lease, { holderIdentity: '' });
  }

  async #patch({ metadata: { name, namespace, resourceVersion } }: Lease, spec: LeaseSpec): Promise<void> {
    await this.#options.platform.mergePatch(LEASES, name, { metadata: { resourceVersion }, spec }, { namespace });
  }

  #become(leads: boolean): void {
    // An answer that came after the end.
    if (leads && this.#stopped.signal.aborted) return;
    if (leads === this.#leads) return;
    this.#leads = leads;
    this.#options.log.info({ lease: this.#options.name, leads }, leads ? 'leads' : 'does not lead');
    this.#options.onChange(leads);
  }
}

/** A part that runs only while this replica leads it: what the others do meanwhile is to wait for their turn. */
export function led(part: Part, options: Omit<LeaderOptions, 'onChange'>): Part {
  const leader = new Leader({ ...options, onChange: (leads) => void (leads ? part.start?.() : part.stop?.()) });
  return {
    start: () => leader.start(),
    stop: async () => {
      await leader.stop();
      await part.stop?.();
    },
    problems: () => part.problems?.() ?? [],
    stats: () => part.stats?.() ?? {},
  };
}
