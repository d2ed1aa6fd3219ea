import { isDeleting } from '../status.ts';
import type { ApiBinding } from './bindings.ts';

/**
 * The one of a workspace's APIBindings of the export by which its objects are served. A second one, which kcp does not
 * bind beside it, says nothing about claims; one on its way out counts while there is no better.
 */
export function servingBinding(bindings: readonly ApiBinding[]): ApiBinding | undefined {
  const bound = bindings.filter(({ status }) => status?.phase === undefined || status.phase === 'Bound');
  for (const candidates of [bound, bindings]) {
    const found = candidates.find((binding) => !isDeleting(binding)) ?? candidates[0];
    if (found) return found;
  }
  return undefined;
}
