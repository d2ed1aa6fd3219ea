import type { KubeObjectOf } from '../model/kubernetes.ts';
import { LOGICAL_CLUSTER_ANNOTATION } from '../names.ts';

/** `apis.kcp.io` APIExportEndpointSlice, as far as the runtime reads it. */
export type EndpointSlice = KubeObjectOf<{
  spec?: { export?: { name?: string; path?: string } };
  status?: { endpoints?: { url: string }[] };
}>;

/** Pure: whether a slice in the provider workspace has the addresses of that workspace's export; its own name is anyone's. */
export function isSliceOf(
  { metadata, spec }: EndpointSlice,
  { exportName, workspacePath }: { exportName: string; workspacePath: string },
): boolean {
  if (spec?.export?.name !== exportName) return false;
  const { path } = spec.export;
  return !path || path === workspacePath || path === metadata.annotations?.[LOGICAL_CLUSTER_ANNOTATION];
}

/** Addresses of the virtual workspace of an APIExport, one a shard, in a fixed order and without slashes at the end. */
export function endpointUrls(slices: readonly EndpointSlice[]): string[] {
  const urls = slices.flatMap(({ status }) => (status?.endpoints ?? []).map(({ url }) => url.replace(/\/+$/, '')));
  return [...new Set(urls)].sort();
}
