import type { KubeObject } from '../model/kubernetes.ts';
import { KCP_IN_FORCE_ANNOTATION } from '../names.ts';

/** Where kcp mode finds its provider workspace; `spec.kcp` of a ProviderConfig. */
export interface KcpSettings {
  /** Path of the provider workspace, such as `root:org:services`. */
  providerWorkspace: string;
  /** Secret on the platform cluster with the key `kubeconfig`. */
  kubeconfigSecret: { name: string; namespace: string };
  /** By `<resource>.<group>` of a permission claim on a type of another APIExport: the identity of that APIExport. */
  identityHashes?: Record<string, string> | undefined;
}

/**
 * The settings by which objects are served now, as the bridge has written them on the ProviderConfig.
 * @returns undefined where it has not (yet), and what `spec.kcp` says counts
 */
export function settingsInForce({ metadata }: KubeObject): KcpSettings | undefined {
  const written = metadata.annotations?.[KCP_IN_FORCE_ANNOTATION];
  if (written === undefined) return undefined;
  try {
    const { providerWorkspace, kubeconfigSecret } = JSON.parse(written) as Partial<KcpSettings>;
    const { name, namespace } = kubeconfigSecret ?? {};
    if (!providerWorkspace || !name || !namespace) return undefined;
    return { providerWorkspace, kubeconfigSecret: { name, namespace } };
  } catch {
    return undefined;
  }
}

/** Whether both lead to the same objects. */
export function samePlace(a: KcpSettings, b: KcpSettings): boolean {
  return (
    a.providerWorkspace === b.providerWorkspace &&
    a.kubeconfigSecret.name === b.kubeconfigSecret.name &&
    a.kubeconfigSecret.namespace === b.kubeconfigSecret.namespace
  );
}

/** @param settings null: none are in force any more */
export function inForcePatch(settings: KcpSettings | null): object {
  const place = settings && {
    providerWorkspace: settings.providerWorkspace,
    kubeconfigSecret: settings.kubeconfigSecret,
  };
  return { metadata: { annotations: { [KCP_IN_FORCE_ANNOTATION]: place && JSON.stringify(place) } } };
}
