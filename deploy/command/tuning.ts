/** Every number that tunes the command, with its unit. */

/** How often each API server is asked whether it answers, and how long that may take: found within 20 s. */
export const REACH_LOOK_MS = 10_000;
export const REACH_LIMIT_MS = 10_000;
export const ONBOARDING_RETRY_MS = 5_000;
/** How long running invocations may go on at shutdown before they are told to end, and when nobody waits any more. */
export const SHUTDOWN_PATIENCE_MS = 5_000;
export const SHUTDOWN_LIMIT_MS = 15_000;
/** Whoever asks for metrics or readiness as the process ends gets this long to be answered. */
export const ANSWER_GRACE_MS = 1_000;
/** A process that was told to end is gone by then, whatever hangs. Kubernetes ends it by force after 30 s. */
export const END_LIMIT_MS = 18_000;
export const DEFAULT_CONCURRENCY = 20;
/** As long as the template of Go providers waits. The operator starts the Job anew when it has failed. */
export const INIT_TIMEOUT_MS = 30 * 60_000;
/** How often files are looked at that are replaced while the process runs; certificates are before they end. */
export const FILE_LOOK_MS = 10_000;
export const ORPHANS_ACCESS_TIMEOUT_MS = 60_000;
/** Below this a lease or lock would end while its holder waits for an answer. */
export const SHORTEST_DURATION_MS = 1_000;
/** As Knative presets it. */
export const DEFAULT_SERVE_ADDRESS = ':8080';
/** How long an answer counts of who may read metrics; a refusal shorter, since it may be mended any moment. */
export const REVIEW_LIFE_MS = 60_000;
export const REVIEW_REFUSAL_LIFE_MS = 10_000;
/** Answers that are remembered, and asked for at once. */
export const MAX_REVIEWS = 1_000;
export const MAX_REVIEWS_AT_ONCE = 16;
