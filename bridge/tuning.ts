import {
  EPOCH_CHECK_MS,
  LEADER_LEASE_MS,
  LEASE_MS,
  PARKED_SWEEP_MS,
  RESYNC_MS,
  TIMER_SWEEP_MS,
} from '../shared/tuning.ts';

/** How a watch is kept alive. */
export interface WatchTuning {
  /**
   * Servers send a bookmark about once a minute: one that says nothing for so long is taken for dead, as is one whose
   * initial events have no end by then.
   */
  readonly silenceLimitMs: number;
  readonly backoffFirstMs: number;
  readonly backoffLimitMs: number;
  /** A watch that lived so long starts again with the first backoff. */
  readonly healthyAfterMs: number;
  /** The server is asked to end a watch after one to two times this long, so that it moves on to other servers. */
  readonly requestTimeoutSeconds: number;
}

/** How the APIExport is looked after. */
export interface UpkeepTuning {
  /** How often it is looked whether the export is still there, and whether old schemas can go. */
  readonly upkeepMs: number;
  /** An unused schema is left alone for so long: another bridge may just be about to export it. */
  readonly schemaGraceMs: number;
}

export const DEFAULT_UPKEEP: UpkeepTuning = { upkeepMs: 60_000, schemaGraceMs: 600_000 };

/** What a tenant may have at once, and how much of it comes back a second. */
export interface ShareTuning {
  readonly burst: number;
  readonly perSecond: number;
}

/** Every number that tunes the bridge, with its unit. */
export interface BridgeTuning {
  readonly watch: WatchTuning;
  readonly upkeep: UpkeepTuning;
  readonly timerSweepMs: number;
  readonly parkedSweepMs: number;
  readonly epochCheckMs: number;
  readonly resyncMs: number;
  /**
   * Longest time for which any host of this provider holds an object without renewing. After Redis has lost its memory
   * nothing is handed out for so long. A dispatcher's lease covers its whole run limit: raise it to that.
   */
  readonly longestLeaseMs: number;
  /** A leader that was not heard of for so long is replaced. */
  readonly leaderLeaseMs: number;
  /** How many of one project's or workspace's changes count as a user's. */
  readonly share: ShareTuning;
  readonly sendConcurrency: number;
  readonly sendRetryFirstMs: number;
  readonly sendRetryLimitMs: number;
  /** A send without an answer for so long is done again; sending twice does no harm. */
  readonly sendTimeoutMs: number;
}

export const DEFAULT_WATCH_TUNING: WatchTuning = {
  silenceLimitMs: 110_000,
  backoffFirstMs: 500,
  backoffLimitMs: 30_000,
  healthyAfterMs: 10_000,
  requestTimeoutSeconds: 300,
};

export const DEFAULT_TUNING: BridgeTuning = {
  watch: DEFAULT_WATCH_TUNING,
  upkeep: DEFAULT_UPKEEP,
  timerSweepMs: TIMER_SWEEP_MS,
  parkedSweepMs: PARKED_SWEEP_MS,
  epochCheckMs: EPOCH_CHECK_MS,
  resyncMs: RESYNC_MS,
  longestLeaseMs: LEASE_MS,
  leaderLeaseMs: LEADER_LEASE_MS,
  share: { burst: 50, perSecond: 2 },
  sendConcurrency: 50,
  sendRetryFirstMs: 50,
  sendRetryLimitMs: 1_000,
  sendTimeoutMs: 10_000,
};

/** How often it is looked whether everything was listed, before it is compared. */
export const LISTED_CHECK_MS = 5_000;
/** A server that ends each watch at once must not be asked in a tight loop. */
export const SHORTEST_WATCH_MS = 1_000;
/** So many streaming lists in a row that never become whole, and lists are asked for in pages. */
export const UNFINISHED_LISTS = 2;
export const SEND_GRACE_MS = 2_000;
/** Giving up the lead holds up the end of a process no longer. */
export const LEAVE_GRACE_MS = 2_000;
/** A request about the mark on the platform cluster may take so long; it is made again at the next look. */
export const MARK_LIMIT_MS = 5_000;
/** Where it can't be kept, e.g. since the right is missing, that is tried again after this. */
export const MARK_RETRY_MS = 600_000;
/** What failed for good is looked at again after this, though nothing has changed that anybody sees. */
export const PERMANENT_LOOK_MS = 86_400_000;
/** So many are looked at in one go. */
export const DUTY_BATCH = 500;
export const PROVISION_ATTEMPTS = 5;
/** An APIExport that was put right so often, look after look, is somebody else's too. */
export const MENDS_BEFORE_CONTEST = 3;
/** Then only every so many looks. */
export const CONTEST_PAUSE = 10;

/** How soon the registrations in force are said again where that failed. */
export const IN_FORCE_RETRY_MS = 5_000;

/** How often it is looked whether kcp settings that are to be given up still serve objects. */
export const HELD_CHECK_MS = 3_000;
/** Conditions of the ProviderConfig that somebody changes back are written again after this, and ever more rarely. */
export const CONTEST_FIRST_MS = 1_000;
export const CONTEST_LIMIT_MS = 600_000;
/** What stayed as it was written for so long is not contested any more. */
export const CONTEST_OVER_MS = 1_200_000;
