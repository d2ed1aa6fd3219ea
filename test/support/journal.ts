import type { Provider } from '../../shared/provider/provider.ts';
import type { ProviderContext, CallResult, ServiceObjectOf } from '../../shared/provider/context.ts';
import foo from '../../functions/providers/foo/provider.ts';

export type CallName = 'install' | 'delete';

/** What happened in one call of a provider. */
export interface JournalEntry {
  /** `signal`: the call was told to end; from then on it can't reach a cluster. `killed`: its process was. */
  event: 'start' | 'end' | 'failed' | 'signal' | 'killed';
  call: CallName;
  /** One number for each call of a process. */
  run: number;
  pid: number;
  uid: string;
  name: string;
  generation: number;
  foo: string;
  /** Of a signal, or of a failure. */
  reason?: string;
}

export type Call = (ctx: ProviderContext<unknown>, object: ServiceObjectOf<unknown>) => Promise<CallResult>;

/**
 * The Foo provider, with every call written to a journal.
 * @param around does the call, or something before, after or instead
 */
export function journalled(
  record: (entry: JournalEntry) => void,
  around: (name: CallName, call: Call) => Call = (_, call) => call,
): Provider {
  let runs = 0;
  const wrap = (name: CallName, call: Call): Call => {
    const inner = around(name, call);
    return async (ctx, object) => {
      const { uid = '', generation = 0 } = object.metadata;
      const value = (object.spec as { foo?: string } | undefined)?.foo ?? '';
      const run = {
        call: name,
        run: ++runs,
        pid: process.pid,
        uid,
        name: object.metadata.name,
        generation,
        foo: value,
      };
      record({ event: 'start', ...run });
      const onAbort = (): void => record({ event: 'signal', ...run, reason: String(ctx.signal.reason) });
      ctx.signal.addEventListener('abort', onAbort, { once: true });
      try {
        const result = await inner(ctx, object);
        record({ event: 'end', ...run });
        return result;
      } catch (error) {
        record({ event: 'failed', ...run, reason: error instanceof Error ? error.message : String(error) });
        throw error;
      } finally {
        ctx.signal.removeEventListener('abort', onAbort);
      }
    };
  };
  return { ...foo, createOrUpdate: wrap('install', foo.createOrUpdate), delete: wrap('delete', foo.delete) };
}

/** Calls of one object that ran at the same time as another of that object: there must be none. */
export function overlaps(journal: readonly JournalEntry[]): JournalEntry[] {
  const open = new Map<string, JournalEntry>();
  return journal.filter((entry) => {
    const other = open.get(entry.uid);
    if (entry.event === 'start') {
      open.set(entry.uid, entry);
      return other !== undefined;
    }
    // Told to end, it has nothing more to say; one that was killed neither.
    if (
      other &&
      (entry.event === 'killed' ? other.pid === entry.pid : other.run === entry.run && other.pid === entry.pid)
    )
      open.delete(entry.uid);
    return false;
  });
}

/** `install 2 two` for each call of an object, in order. */
export function callsOf(journal: readonly JournalEntry[], name: string): string[] {
  return journal
    .filter((entry) => entry.event === 'start' && entry.name === name)
    .map(({ call, generation, foo: value }) => (call === 'delete' ? 'delete' : `install ${generation} ${value}`));
}
