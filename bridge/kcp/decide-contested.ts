import { CONTEST_PAUSE, MENDS_BEFORE_CONTEST } from '../tuning.ts';

/**
 * Pure: whether an APIExport that is not as it was left is left alone this time. Somebody who changes it back as often as
 * it is put right is not fought; now and then it is tried again, since he may have ended.
 * @param mends how often in a row it was found changed
 */
export function isContested(mends: number): boolean {
  return mends >= MENDS_BEFORE_CONTEST && mends % CONTEST_PAUSE !== 0;
}
