import { ObjectWatch, type ObjectWatchOptions } from '../objects/object-watch.ts';
import type { ResourceType } from '../../shared/model/kubernetes.ts';
import { BindingWatch } from './binding-watch.ts';

/** One address of the export's virtual workspace: the objects there, and the bindings that they come by. */
export interface Shard {
  readonly objects: ObjectWatch;
  readonly bindings: BindingWatch;
}

/** @param options.bindings the version of APIBindings that this kcp serves */
export function shardAt(
  url: string,
  options: Omit<ObjectWatchOptions, 'mode' | 'name'> & { bindings: ResourceType },
): Shard {
  const objects = new ObjectWatch({ ...options, mode: 'kcp', name: `kcp: ${url}` });
  const bindings = new BindingWatch({
    ...options,
    name: `kcp: ${url}: APIBindings`,
    type: options.bindings,
    onClaims: (logicalCluster) => objects.bindingChanged(logicalCluster),
  });
  return { objects, bindings };
}
