import type { KubeObjectOf } from '../model/kubernetes.ts';

/** `apis.kcp.io` APIExportEndpointSlice, as far as the runtime reads it. */
export type EndpointSlice = KubeObjectOf<{ status?: { endpoints?: { url: string }[] } }>;

/** Addresses of the virtual workspace of an APIExport, one a shard, in a fixed order and without slashes at the end. */
export function endpointUrls(slice: EndpointSlice): string[] {
  return (slice.status?.endpoints ?? []).map(({ url }) => url.replace(/\/+$/, '')).sort();
}
