import type { Logger } from 'pino';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';
import type { WatchTuning } from '../tuning.ts';
import { WatchLoop } from './loop.ts';

export interface OneObject<T extends KubeObject, Digest> {
  readonly client: KubeClient;
  readonly type: ResourceType;
  readonly name: string;
  readonly namespace?: string;
  /** What is kept of it. */
  readonly digest: (object: T) => Digest;
}

/**
 * Follows one object by its name.
 * @param onState told what it is after each list and change; `undefined` when the server says that there is none
 */
export function followOne<T extends KubeObject, Digest>(
  { client, type, name, namespace, digest }: OneObject<T, Digest>,
  onState: (digest: Digest | undefined) => void,
  options: { tuning: WatchTuning; log: Logger },
): WatchLoop<T, Digest> {
  return new WatchLoop<T, Digest>(
    {
      client,
      type,
      selection: { fieldSelector: `metadata.name=${name}`, ...(namespace ? { namespace } : {}) },
      // Another one that a server sends in spite of the selector is none of ours.
      digest: (object) => (object.metadata.name === name ? digest(object) : undefined),
    },
    {
      replaced: (items) => onState(items[0]),
      event: (kind, item) => onState(kind === 'DELETED' ? undefined : item),
    },
    options,
  );
}
