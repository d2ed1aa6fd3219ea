import type { Mode, ObjectKey } from '../../shared/model/object-key.ts';

export interface KnownObject {
  readonly key: ObjectKey;
  readonly generation: number;
}

/** One way in which tenants order. Modes know nothing of each other: one that fails leaves the other as it is. */
export interface ModeRunner {
  readonly mode: Mode;
  /** False while there is nothing to follow, e.g. without kcp settings. */
  readonly running: boolean;
  start(): void;
  stop(): void;
  /** Every object that is known; may be walked through slowly. */
  objects(): Iterable<KnownObject>;
  knows(key: ObjectKey): boolean;
  /** What is wrong at the moment; empty when all is well. */
  status(): string[];
}
