import type { Logger } from 'pino';
import { type EndpointSlice, endpointUrls } from '../../shared/kcp/endpoint-slice.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { API_EXPORT_ENDPOINT_SLICES } from '../../shared/kube/resources.ts';
import type { WatchState } from '../watch/decide-watch.ts';
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
 */
export class Endpoints {
  readonly #loop: WatchLoop<EndpointSlice, readonly string[]>;
  readonly #sink: EndpointSink;
  #urls: ReadonlySet<string> = new Set();

  /** @param workspace at the provider workspace; the slice has the export's name */
  constructor(
    workspace: KubeClient,
    exportName: string,
    sink: EndpointSink,
    options: { tuning: WatchTuning; log: Logger },
  ) {
    this.#sink = sink;
    this.#loop = followOne<EndpointSlice, readonly string[]>(
      { client: workspace, type: API_EXPORT_ENDPOINT_SLICES, name: exportName, digest: endpointUrls },
      (urls) => this.#moveTo(urls ?? []),
      options,
    );
  }

  get state(): WatchState {
    return this.#loop.state;
  }

  start(): void {
    this.#loop.start();
  }

  stop(): void {
    this.#loop.stop();
  }

  #moveTo(urls: readonly string[]): void {
    const previous = this.#urls;
    this.#urls = new Set(urls);
    for (const url of previous) if (!this.#urls.has(url)) this.#sink.left(url);
    for (const url of this.#urls) if (!previous.has(url)) this.#sink.appeared(url);
    this.#sink.moved(this.#urls.size);
  }
}
