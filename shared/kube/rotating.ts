import { ROTATION_CHECK_MS } from '../tuning.ts';

/** What may be replaced at any time, such as a token: read at the first call, and again once it is a minute old. */
export function rotating<T>(read: () => Promise<T>): () => Promise<T> {
  let current: { readonly value: T } | undefined;
  let readAt = 0;
  return async () => {
    const before = current;
    if (before && Date.now() - readAt <= ROTATION_CHECK_MS) return before.value;
    readAt = Date.now();
    current = await read().then(
      (value) => ({ value }),
      (error: unknown) => {
        // Unreadable for the moment: what is at hand may still be good.
        if (before) return before;
        throw error;
      },
    );
    return current.value;
  };
}
