import type { CallResult, ProviderContext, ServiceObjectOf } from '../../shared/provider/context.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import { type Call, type CallName, journalled, type JournalEntry } from './journal.ts';
import { eventually } from './wait.ts';

/** A call that a test holds open. */
export interface HeldCall {
  readonly ctx: ProviderContext<unknown>;
  readonly object: ServiceObjectOf<unknown>;
  /** Lets it go on; it then does what Foo does. */
  release(): void;
}

interface Order {
  stubborn: boolean;
  reached(held: HeldCall): void;
}

/** A Foo provider on strings: its calls are written down, can be held open, and can be told what to answer. */
export class Puppet {
  readonly journal: JournalEntry[] = [];
  readonly provider: Provider;
  readonly #holds = new Map<string, Order>();
  readonly #answers = new Map<string, { result: CallResult; instead: boolean }>();

  constructor() {
    this.provider = journalled(
      (entry) => void this.journal.push(entry),
      (name, call) => this.#around(name, call),
    );
  }

  /**
   * Holds the next call for an object; resolves when it has begun.
   * @param options.stubborn it does not end when told to, as a provider that never looks at `ctx.signal`
   */
  hold(call: CallName, name: string, { stubborn = false } = {}): Promise<HeldCall> {
    const begun = new Promise<HeldCall>((reached) => this.#holds.set(`${call} ${name}`, { stubborn, reached }));
    let held: HeldCall | undefined;
    void begun.then((one) => (held = one));
    return eventually(`${call} of ${name} has begun`, () => held, { timeout: 60_000 });
  }

  /**
   * What calls for an object return from now on; `undefined` for what Foo returns.
   * @param options.instead nothing is done, only this is returned
   */
  answer(call: CallName, name: string, result: CallResult, { instead = false } = {}): void {
    if (result === undefined) this.#answers.delete(`${call} ${name}`);
    else this.#answers.set(`${call} ${name}`, { result, instead });
  }

  #around(name: CallName, call: Call): Call {
    return async (ctx, object) => {
      const id = `${name} ${object.metadata.name}`;
      const order = this.#holds.get(id);
      if (order) {
        this.#holds.delete(id);
        await this.#held(order, ctx, object);
      }
      const answer = this.#answers.get(id);
      if (answer?.instead) return answer.result;
      const result = await call(ctx, object);
      return answer ? answer.result : result;
    };
  }

  #held(order: Order, ctx: HeldCall['ctx'], object: HeldCall['object']): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!order.stubborn)
        ctx.signal.addEventListener('abort', () => reject(new Error(`told to end: ${String(ctx.signal.reason)}`)));
      order.reached({ ctx, object, release: resolve });
    });
  }
}
