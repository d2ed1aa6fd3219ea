import { act, type Decision, skip } from '../watch/decision.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';

/**
 * Step 4 for the ProviderConfig, pure: whether all objects have to be looked at again, behind what users do meanwhile.
 * @param before undefined when there was none
 * @param now undefined when there is none
 */
export function configRelevance(before: KubeObject | undefined, now: KubeObject | undefined): Decision {
  const same =
    before?.metadata.uid === now?.metadata.uid &&
    before?.metadata.generation === now?.metadata.generation &&
    before?.metadata.deletionTimestamp === now?.metadata.deletionTimestamp;
  return same ? skip('ConfigUnchanged') : act('ProviderConfigChanged', 'background');
}
