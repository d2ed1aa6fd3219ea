/** Pure: what a bridge does with the epoch that it read; see the delivery protocol. */

export type EpochStep =
  /** Redis remembers everything. */
  | 'keep'
  /** Another bridge noticed first and began a new epoch: take it over, and publish everything. */
  | 'adopt'
  /** Redis has lost its memory, or part of it: begin a new epoch, and publish everything. */
  | 'begin';

export interface KnownEpochs {
  /** The one that was in force when last looked. */
  readonly current: string | undefined;
  /** Those before it: one of them in force again means that Redis was set back to an older state. */
  readonly past: ReadonlySet<string>;
}

/**
 * Two bridges that find the epoch missing at once both begin one; the one whose id was overwritten takes over the other,
 * so that they don't replace each other's for ever.
 */
export function epochStep(read: { id: string; sameServer: boolean }, known: KnownEpochs): EpochStep {
  if (read.id === '' || !read.sameServer || known.past.has(read.id)) return 'begin';
  return read.id === known.current ? 'keep' : 'adopt';
}

/** Whether this may be the first start of all: Redis has nothing, and this process has never seen it have anything. */
export function mayBeFirst(read: { id: string }, known: KnownEpochs): boolean {
  return read.id === '' && known.current === undefined;
}

/**
 * What an answer other than success to the creation of the mark means. `impossible`: it can't be kept here, e.g. since the
 * right is missing. `unknown`: that was no answer, and another one comes.
 */
export function markAnswer(status: number, exists: boolean): 'there' | 'impossible' | 'unknown' {
  if (exists) return 'there';
  const later = status === 401 || status === 408 || status === 429;
  return status >= 400 && status < 500 && !later ? 'impossible' : 'unknown';
}
