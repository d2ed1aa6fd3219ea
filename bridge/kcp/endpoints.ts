import type { Logger } from 'pino';
import { type EndpointSlice, endpointUrls, isSliceOf } from '../../shared/kcp/endpoint-slice.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { API_EXPORT_ENDPOINT_SLICES } from '../../shared/kube/resources.ts';
import type { WatchTuning } from '../tuning.ts';
import { WatchLoop } from '../watch/loop.ts';

export interface EndpointSink {
  appeared(url: string): void;
  left(url: string): void;
  /** After each list or change: how many there are now. */
  moved(count: number): void;
}

/**
 * Follows the addresses at which an APIExport's objects are served, one per shard. There are none before the first
 * workspace has bound the export, nor while its slices are deleted: that is no error.
 * @param workspace at the provider workspace
 * @param of the export, and the path of its workspace
 */
export function followEndpoints(
  workspace: KubeClient,
  of: { exportName: string; workspacePath: string },
  sink: EndpointSink,
  options: { tuning: WatchTuning; log: Logger },
): WatchLoop<EndpointSlice, EndpointSlice> {
  let urls: ReadonlySet<string> = new Set();
  const slices = new Map<string, EndpointSlice>();
  const move = (): void => {
    const previous = urls;
    urls = new Set(endpointUrls([...slices.values()]));
    for (const url of previous) if (!urls.has(url)) sink.left(url);
    for (const url of urls) if (!previous.has(url)) sink.appeared(url);
    sink.moved(urls.size);
  };
  return new WatchLoop<EndpointSlice, EndpointSlice>(
    {
      client: workspace,
      type: API_EXPORT_ENDPOINT_SLICES,
      selection: {},
      digest: (slice) => (isSliceOf(slice, of) ? slice : undefined),
    },
    {
      replaced: (items) => {
        slices.clear();
        for (const slice of items) slices.set(slice.metadata.name, slice);
        move();
      },
      event: (kind, slice) => {
        if (kind === 'DELETED') slices.delete(slice.metadata.name);
        else slices.set(slice.metadata.name, slice);
        move();
      },
    },
    options,
  );
}
