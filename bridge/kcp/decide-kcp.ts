import { type KcpSettings, samePlace } from '../../shared/kcp/settings.ts';
import { equal } from '../../shared/model/json.ts';

/** Pure: what becomes of kcp mode when the ProviderConfig is this. */
export type KcpStep =
  | { readonly do: 'nothing' | 'stop' }
  | { readonly do: 'start'; readonly settings: KcpSettings }
  /** It goes on with the settings in force until nothing is served by them. */
  | { readonly do: 'hold'; readonly settings: KcpSettings };

/**
 * @param running the settings with which the mode runs; undefined when it doesn't
 * @param inForce those by which objects are, or may be, served
 * @param wanted `gone`: there is no ProviderConfig; `invalid`: it can't be read; undefined: it has no kcp settings
 */
export function kcpStep(
  running: KcpSettings | undefined,
  inForce: KcpSettings | undefined,
  wanted: KcpSettings | undefined | 'gone' | 'invalid',
): KcpStep {
  // Objects in workspaces are still to be told that their ProviderConfig is missing or wrong, and may be deleted.
  if (wanted === 'gone' || wanted === 'invalid') return { do: 'nothing' };
  // Out of reach, they would keep our finalizer, and their workspaces what we made there, for ever.
  if (inForce && !(wanted && samePlace(inForce, wanted))) return { do: 'hold', settings: inForce };
  if (!wanted) return { do: running ? 'stop' : 'nothing' };
  return running && equal(running, wanted) ? { do: 'nothing' } : { do: 'start', settings: wanted };
}
