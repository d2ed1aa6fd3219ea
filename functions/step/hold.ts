/** Why an invocation was told to stop. */
export type StopReason = 'LeaseLost' | 'RunLimit' | 'ObjectDeleted' | 'Shutdown';

/**
 * The hold on one object for the length of one invocation, whatever the host: the object lease of a worker, or the time
 * that a dispatcher grants to a server.
 */
export interface Hold {
  /** Fires with a {@link StopReason}. */
  readonly signal: AbortSignal;
  /** Fires once the hold is over, whatever else was said before: requests under way are dropped. */
  readonly lost: AbortSignal;
  /** @throws RuntimeError `STALE_HOLDER` once the hold is over: nothing may be sent any more */
  readonly guard: () => void;
  /** Tells the invocation to end; the first reason counts. */
  stop(reason: StopReason): void;
  /**
   * Keeps the hold for as long as the invocation lives, as far as the host can.
   * @param onWanted called when somebody may have come for the object meanwhile
   */
  renewed(onWanted: () => void): void;
}
