/** Every number that tunes the functions, with its unit. */

/** A claim that is accepted wakes the object; this is for the end of the patience. */
export const CLAIM_RETRY_MS = 10_000;
export const ONBOARDING_POLL_MS = 500;
export const TOKEN_POLL_MS = 50;
/** kcp fills a bootstrap Secret, and knows of new rights, within a second; who waits longer gives the worker free. */
export const TOKEN_PATIENCE_MS = 1_500;
/** Then the object is looked at again. */
export const TOKEN_RETRY_MS = 1_000;
/** A bootstrap Secret that was not filled for so long is made anew. */
export const BOOTSTRAP_LIFE_MS = 30_000;
/** Nothing tells when a tenant removes what has a name that we need. */
export const FOREIGN_RETRY_MS = 15_000;
export const CRD_POLL_MS = 100;
export const CRD_TIMEOUT_MS = 30_000;
export const ORPHAN_POLL_MS = 250;
export const ORPHAN_PATIENCE_MS = 60_000;
/** Nothing tells when a Cluster or somebody's ClusterRequest appears, except those of control planes. */
export const LOOK_AGAIN_MS = 10_000;
/** Nothing tells when the last of an earlier object of the same name, or workspace, is gone. */
export const EARLIER_OBJECT_RETRY_MS = 2_000;
/** Invocations that take longer may not take every place of a process for one tenant. */
export const QUICK_MS = 1_000;
/** A tenant who had no work for so long takes nothing from the others' share. */
export const OTHERS_MS = 10_000;
/** An object of a tenant who has his share in work is looked at again after one to two times this long. */
export const SHARE_RETRY_MS = 3_000;
/** So often in a row an object goes back to the start at once; then after a pause that grows. */
export const FREE_RETURNS = 3;
/** More steps than this in one pass mean that somebody works against us. */
export const MAX_REQUEST_STEPS = 12;
/** A step that meets other writers reads again this often before it backs off. */
export const MAX_CONFLICTS = 5;
/** A token in a file is read again after this. */
export const TOKEN_READ_MS = 10_000;
/** `Retry-After` of a server that is busy or ending. */
export const BUSY_RETRY_SECONDS = 1;
/** A server is not told when somebody comes for an object: a running installation looks by itself, this often. */
export const SERVER_LOOK_MS = 3_000;
/** A request to a function may wait for so long until the function has started, e.g. from zero. */
export const COLD_START_LIMIT_MS = 30_000;
/** A function that is busy is asked again for so long, under the same lease, before the object is given back. */
export const BUSY_PATIENCE_MS = 10_000;
