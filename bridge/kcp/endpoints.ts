import type { Logger } from 'pino';
import { type EndpointSlice, endpointUrls } from '../../shared/kcp/endpoint-slice.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { API_EXPORT_ENDPOINT_SLICES } from '../../shared/kube/resources.ts';
import { followOne } from '../watch/follow-one.ts';
import type { WatchTuning } from '../tuning.ts';
import type { WatchLoop } from '../watch/loop.ts';

export interface EndpointSink {
  appeared(url: string): void;
  left(url: string): void;
  /** After each list or change: how many there are now. */
  moved(count: number): void;
}

/**
 * Follows the addresses at which an APIExport's objects are served, one per shard. There are none before the first
 * workspace has bound the export, nor while the slice is deleted: that is no error.
 * @param workspace at the provider workspace; the slice has the export's name
 */
export function followEndpoints(
  workspace: KubeClient,
  exportName: string,
  sink: EndpointSink,
  options: { tuning: WatchTuning; log: Logger },
): WatchLoop<EndpointSlice, readonly string[]> {
  let urls: ReadonlySet<string> = new Set();
  const moveTo = (now: readonly string[]): void => {
    const previous = urls;
    urls = new Set(now);
    for (const url of previous) if (!urls.has(url)) sink.left(url);
    for (const url of urls) if (!previous.has(url)) sink.appeared(url);
    sink.moved(urls.size);
  };
  return followOne<EndpointSlice, readonly string[]>(
    { client: workspace, type: API_EXPORT_ENDPOINT_SLICES, name: exportName, digest: endpointUrls },
    (found) => moveTo(found ?? []),
    options,
  );
}
