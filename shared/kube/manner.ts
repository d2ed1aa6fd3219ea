import type { ServerClock } from './server-clock.ts';
import type { Guard } from './transport.ts';

/** How requests are sent, whatever they ask for. */
export interface Manner {
  readonly guard?: Guard;
  readonly signal?: AbortSignal | undefined;
  /** How long a request may take, watches excepted. */
  readonly limitMs: number;
  readonly clock: ServerClock;
}
