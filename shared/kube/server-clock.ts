import { CLOCK_TOLERANCE_MS } from '../tuning.ts';

/**
 * The time that a server goes by, as its answers tell (`Date` header, RFC 9110), so that processes whose clocks differ
 * agree about times that they leave for each other. Ours, where it says nothing, or about the same.
 */
export class ServerClock {
  readonly #ours: () => number;
  #aheadMs = 0;

  constructor(ours: () => number = Date.now) {
    this.#ours = ours;
  }

  /** @param date the header, of an answer that came just now */
  heard(date: string | string[] | undefined): void {
    const theirs = typeof date === 'string' ? Date.parse(date) : Number.NaN;
    if (Number.isNaN(theirs)) return;
    // Whole seconds: it is half a second later than that, give or take.
    const aheadMs = theirs + 500 - this.#ours();
    this.#aheadMs = Math.abs(aheadMs) > CLOCK_TOLERANCE_MS ? aheadMs : 0;
  }

  now(): Date {
    return new Date(this.#ours() + this.#aheadMs);
  }
}
