/** Every number that tunes what all processes share, with its unit. Settings override those that an operator may want to change. */

/** How long an object stays held after its holder died. Renewed while the invocation lives. */
export const LEASE_MS = 15_000;
/** How often a holder renews, and looks whether something about the object changed meanwhile. */
export const LEASE_RENEWAL_MS = 1_000;
/** A holder stops this long before its lease ends, for clocks and requests under way. */
export const LEASE_MARGIN_MS = 2_000;
/** An invocation is ended after this: a provider returns `requeueAfter` rather than wait. */
export const RUN_LIMIT_MS = 60_000;
export const MAX_RUN_LIMIT_MS = 290_000;

/** A provider's call that was told to end gets this long to do so. */
export const CALL_GRACE_MS = 3_000;

/** Providers may block the event loop for seconds; a lock must not be lost by that. The same for every worker. */
export const JOB_LOCK_MS = 15_000;
export const STALLED_CHECK_MS = 5_000;
/** An interrupted job is never given up. */
export const MAX_STALLED_COUNT = 1_000_000_000;

export const BACKOFF_FIRST_MS = 1_000;
export const BACKOFF_LIMIT_MS = 300_000;
/** Nothing runs again sooner by itself, whatever a provider asks for, so that nothing spins. */
export const AGAIN_LEAST_MS = 1_000;
/** Something that is waited for wakes the object by an event; this is for an event that got lost. */
export const SAFETY_TIMER_MS = 120_000;
/** For an event of a version that only a newer worker knows. */
export const UNKNOWN_VERSION_RETRY_MS = 10_000;
/** So often it is left to a newer worker; then the object is looked at by this version, from the start. */
export const UNKNOWN_VERSION_TRIES = 3;

/** How often the bridge looks for timers that are due. */
export const TIMER_SWEEP_MS = 200;
export const PARKED_SWEEP_MS = 1_000;
export const EPOCH_CHECK_MS = 5_000;
export const RESYNC_MS = 600_000;
/** As long as in client-go. */
export const LEADER_LEASE_MS = 15_000;

/** BullMQ priorities: 0 goes first. */
export const USER_PRIORITY = 0;
export const BACKGROUND_PRIORITY = 10;

/** Redis: the longest pause between two tries to connect. */
export const RECONNECT_LIMIT_MS = 1_000;
/**
 * How often it is looked whether Redis may still be worked with: its settings, and the rights there. With the limit below
 * that finds a dead connection of a process without work within 25 s.
 */
export const ADMISSION_CHECK_MS = 15_000;
/** How soon it is looked again where Redis gave no answer, or none that says anything. */
export const ADMISSION_RETRY_MS = 1_000;
/** How often a sender follows a Redis Cluster that rearranges itself, before it is told that Redis is away. */
export const SENDER_REDIRECTIONS = 5;
/** How often the nodes of a Redis Cluster are asked who serves what. */
export const TOPOLOGY_CHECK_MS = 5_000;
/**
 * Commands are answered in milliseconds, and those that wait for work within BullMQ's 5 s: a connection that gives no
 * answer for so long is dead.
 */
export const SILENCE_LIMIT_MS = 10_000;
/** BullMQ's own event stream serves nobody here but people who debug. */
export const EVENT_STREAM_LENGTH = 1_000;

/** Requests to API servers. Watches have no limit: see `bridge/tuning.ts`. */
export const CONNECT_TIMEOUT_MS = 10_000;
export const REQUEST_TIMEOUT_MS = 30_000;
/** A server that asks to be left alone for a while is, at least and at most so long. */
export const SHORTEST_PAUSE_MS = 1_000;
export const LONGEST_PAUSE_MS = 600_000;
/** Requests of a server for which that is remembered. */
export const REMEMBERED_PAUSES = 1_000;
/** To a tenant's workspace, where a tenant's webhook may be in the way: nobody else has to wait for it. */
export const WORKSPACE_REQUEST_MS = 10_000;
export const IDLE_CONNECTION_MS = 30_000;
/** Objects a page of a list: few at first, since annotations of each may have 256 KiB, then as many as are so long. */
export const FIRST_PAGE_SIZE = 50;
export const LARGEST_PAGE_SIZE = 500;
export const PAGE_LENGTH = 2 * 1024 * 1024;
/** A server tells its time in whole seconds, and its answer is on the way for a while: clocks that differ by less agree. */
export const CLOCK_TOLERANCE_MS = 2_000;
/** Clusters of objects to which connections are kept. */
export const MAX_CLIENTS = 500;
/** How often a token or certificate that may be replaced is read again. */
export const ROTATION_CHECK_MS = 60_000;
/** The same where it could not be read. */
export const ROTATION_RETRY_MS = 10_000;
/** A plugin that gives the process its credential is ended after this. */
export const PLUGIN_TIMEOUT_MS = 20_000;
/** A rotated Secret, or a shard that came or went, is noticed after this. */
export const KCP_CONNECTION_LIFE_MS = 30_000;
