import type { Logger } from 'pino';
import type { ApiBinding } from '../../shared/kcp/bindings.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { ResourceType } from '../../shared/model/kubernetes.ts';
import type { BridgeStats } from '../part.ts';
import type { WatchTuning } from '../tuning.ts';
import { KindWatch, subjectOf } from '../watch/kind-watch.ts';
import type { Change } from '../watch/seen.ts';
import { bindingRelevance, type SeenBinding, seenBinding } from './seen-bindings.ts';

export interface BindingWatchOptions {
  /** In problems. */
  name: string;
  /** At `/clusters/*` of one endpoint. */
  client: KubeClient;
  type: ResourceType;
  tuning: WatchTuning;
  log: Logger;
  /** The claims of this workspace are others now. */
  onClaims: (logicalCluster: string) => void;
}

/** Follows the APIBindings of the export at one address: which workspaces are bound, and what they accept. */
export class BindingWatch extends KindWatch<ApiBinding, SeenBinding> {
  constructor(options: BindingWatchOptions) {
    const { log, onClaims } = options;
    const changed = (change: Change<SeenBinding>): void => {
      const { group: workspace } = subjectOf(change);
      const what = { added: 'workspace bound', gone: 'workspace unbound', changed: undefined }[change.kind];
      if (what) log.info({ workspace, bound: this.seen.size }, what);
      if (bindingRelevance(change).act) onClaims(workspace);
    };
    super({
      ...options,
      // Whole objects: what counts is in their status.
      digest: seenBinding,
      changed: (changes, heard) => {
        if (heard === 'first-list') log.info({ bound: this.seen.size }, 'workspaces bound');
        else changes.forEach(changed);
      },
    });
  }

  /** APIResourceSchemas that bindings are served from; undefined while that isn't known for sure. */
  schemasInUse(): string[] | undefined {
    if (this.problems().length > 0) return undefined;
    return [...this.seen.all()].flatMap(({ schemas }) => schemas);
  }

  override stats(): Partial<BridgeStats> {
    return { ...super.stats(), boundWorkspaces: this.seen.size };
  }
}
