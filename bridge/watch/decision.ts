import type { Reason } from '../../shared/events/catalogue.ts';
import type { Priority } from '../../shared/queue/publisher.ts';

/** How the bridge heard of a change: in the first list after its start, in a later list, or from a running watch. */
export type Heard = 'first-list' | 'relist' | 'watch';

export type SkipReason =
  | 'Unchanged'
  | 'StatusOrMetadataOnly'
  | 'OperationDone'
  | 'ObjectGone'
  | 'RequestCreated'
  | 'RequestUnchanged'
  | 'BindingUnchanged'
  | 'NoSuchObject'
  | 'ModeNotRunning'
  | 'NotReferenced'
  | 'ConfigUnchanged';

/** Step 4, pure: whether a change needs work, or the reason why not. */
export type Decision =
  | { readonly act: true; readonly reason: Reason; readonly priority: Priority }
  | { readonly act: false; readonly because: SkipReason };

export const act = (reason: Reason, priority: Priority): Decision => ({ act: true, reason, priority });
export const skip = (because: SkipReason): Decision => ({ act: false, because });
