import type { ConditionReport } from '../status.ts';

/** Why a deletion does not go on; of the provider's own conditions, beside `Ready`. */
export const CONDITION_DELETION_BLOCKED = 'DeletionBlocked';
export const REASON_RESOURCES_EXIST = 'ResourcesExist';

/** How many objects of one kind there are. */
export interface KindCount {
  readonly kind: string;
  readonly group: string;
  readonly count: number;
}

/** Pure: the condition that names kinds and counts; status `False` once nothing is left. */
export function deletionBlocked(counts: readonly KindCount[]): ConditionReport {
  const left = counts.filter(({ count }) => count > 0);
  if (left.length === 0)
    return {
      type: CONDITION_DELETION_BLOCKED,
      status: 'False',
      reason: 'NoResourcesLeft',
      message: 'Nothing of the tenant is left',
    };
  const named = left.map(({ kind, group, count }) => `${count} ${group === '' ? kind : `${kind}.${group}`}`);
  return {
    type: CONDITION_DELETION_BLOCKED,
    status: 'True',
    reason: REASON_RESOURCES_EXIST,
    message: `The service is removed once these objects of yours are deleted: ${named.join(', ')}`,
  };
}
