import type { KcpSettings } from '../../shared/kcp/settings.ts';

/** Pure: what becomes of kcp mode when the ProviderConfig is this. */
export type KcpStep = { readonly do: 'nothing' | 'stop' } | { readonly do: 'start'; readonly settings: KcpSettings };

/**
 * @param running the settings with which the mode runs; undefined when it doesn't
 * @param wanted `gone`: there is no ProviderConfig; `invalid`: it can't be read; undefined: it has no kcp settings
 */
export function kcpStep(
  running: KcpSettings | undefined,
  wanted: KcpSettings | undefined | 'gone' | 'invalid',
): KcpStep {
  // Objects in workspaces are still to be told that their ProviderConfig is missing or wrong, and may be deleted.
  if (wanted === 'gone' || wanted === 'invalid') return { do: 'nothing' };
  if (!wanted) return { do: running ? 'stop' : 'nothing' };
  return running && same(running, wanted) ? { do: 'nothing' } : { do: 'start', settings: wanted };
}

function same(a: KcpSettings, b: KcpSettings): boolean {
  return (
    a.providerWorkspace === b.providerWorkspace &&
    a.kubeconfigSecret.name === b.kubeconfigSecret.name &&
    a.kubeconfigSecret.namespace === b.kubeconfigSecret.namespace
  );
}
