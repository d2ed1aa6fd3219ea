/** Pure: delays that double up to a limit, each shortened by chance to between half and all of it. */
export class Backoff {
  readonly #firstMs: number;
  readonly #limitMs: number;
  readonly #random: () => number;
  #failures = 0;

  constructor(firstMs: number, limitMs: number, random: () => number = Math.random) {
    this.#firstMs = firstMs;
    this.#limitMs = limitMs;
    this.#random = random;
  }

  /** How long to wait before the next try, in milliseconds. */
  next(): number {
    const full = Math.min(this.#limitMs, this.#firstMs * 2 ** Math.min(this.#failures, 30));
    this.#failures += 1;
    return full * (0.5 + this.#random() / 2);
  }

  reset(): void {
    this.#failures = 0;
  }
}
