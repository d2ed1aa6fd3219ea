import type { Logger } from 'pino';
import type { Reason } from '../../shared/events/catalogue.ts';
import type { DeliveryState, Due } from '../../shared/queue/delivery-state.ts';
import type { Priority } from '../../shared/queue/publisher.ts';
import type { EpochKeeper } from './epoch.ts';
import type { Sender } from '../send/sender.ts';
import { repeat } from './repeat.ts';
import type { Part } from '../part.ts';
import type { BridgeTuning } from '../tuning.ts';
import { DUTY_BATCH } from '../tuning.ts';

export interface DutyOptions {
  state: DeliveryState;
  epoch: EpochKeeper;
  sender: Sender;
  /** Whether this replica leads a mode: what all could do, one does. */
  active?: () => boolean;
  /** Starts to publish every object again. */
  resync: () => void | Promise<void>;
  tuning: BridgeTuning;
  log: Logger;
}

/**
 * What the bridge does besides watching: timers that are due, parked objects that are free again, the epoch, the resync.
 * Functions scaled to zero wake by this.
 * @returns ends it
 */
export function startDuties(options: DutyOptions): () => void {
  const { state, epoch, resync, tuning, log } = options;
  const stopped = new AbortController();
  const duty = (name: string, everyMs: number, task: () => Promise<void>): void => {
    void repeat(name, everyMs, task, { signal: stopped.signal, log });
  };
  const usable = (): boolean => state.link.connected && epoch.verified && (options.active?.() ?? true);

  const checkEpoch = async (): Promise<void> => {
    if (!state.link.connected) return;
    await epoch.check();
    options.sender.wake();
  };
  const unfollow = state.link.follow(
    () => void checkEpoch().catch((error: Error) => log.warn({ problem: error.message }, 'epoch')),
    () => epoch.connectionLost(),
  );

  duty('epoch', tuning.epochCheckMs, checkEpoch);
  duty('timers', tuning.timerSweepMs, async () => {
    for (let more = usable(); more && usable();) {
      const due = await state.dueTimers(DUTY_BATCH);
      await publishAll(due, 'Timer', 'background', options, (timer) => state.forgetTimer(timer));
      more = due.length === DUTY_BATCH;
    }
  });
  // Free at the last look already: whoever lets go of an object publishes it too, in a moment.
  let freeBefore = new Map<string, string>();
  duty('parked', tuning.parkedSweepMs, async () => {
    // While nothing is handed out they would only be parked again.
    if (!usable() || epoch.quiet) return;
    const free = await state.releasedParked(DUTY_BATCH);
    const left = free.filter(({ member, score }) => freeBefore.get(member) === score);
    freeBefore = new Map(free.map(({ member, score }) => [member, score]));
    await publishAll(left, 'Parked', 'user', options, (parked) => state.forgetParked(parked));
  });
  // Not at once: what exists is being published as it is found.
  let first = true;
  duty('resync', tuning.resyncMs, async () => {
    if (!first) await resync();
    first = false;
  });

  return () => {
    stopped.abort();
    unfollow();
  };
}

/** Publishes first and forgets then, so that nothing is lost in between; one that fails is due again at the next look. */
async function publishAll(
  batch: readonly Due[],
  reason: Reason,
  priority: Priority,
  { sender, tuning, log }: DutyOptions,
  forget: (due: Due) => Promise<void>,
): Promise<void> {
  const waiting = batch.values();
  let problem: unknown;
  const work = async (): Promise<void> => {
    for (const due of waiting) {
      try {
        if (due.key) await sender.publishNow({ key: due.key, reason, priority });
        else log.warn({ member: due.member, reason }, 'not an object key; forgotten');
        await forget(due);
      } catch (error) {
        problem = error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(tuning.sendConcurrency, batch.length) }, work));
  // Said once, after all the others had their turn.
  if (problem) throw problem;
}

/** The same as a part of the bridge. */
export function duties(options: DutyOptions): Part {
  let end: (() => void) | undefined;
  return { start: () => void (end ??= startDuties(options)), stop: () => end?.() };
}
