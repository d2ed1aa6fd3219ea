import type { KubeClient } from '../../shared/kube/ports.ts';
import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';
import { follow } from './follow.ts';

/** One change as a watch told it. */
export interface HistoryEntry<T extends KubeObject = KubeObject> {
  /** Milliseconds since the epoch when we heard of it. */
  readonly time: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /**
   * On one kcp shard and on one kube-apiserver, versions of all types are numbers from one counter: comparing them as
   * numbers gives the true order, where times only tell when the watches delivered.
   */
  readonly resourceVersion: string;
  readonly object: T;
}

export interface History {
  /** In the order in which the watches told; by `resourceVersion` within one server it is the true order. */
  readonly entries: readonly HistoryEntry[];
  /** Entries of one kind, ordered by resourceVersion. */
  of<T extends KubeObject>(
    type: ResourceType,
    filter?: Partial<Pick<HistoryEntry, 'type' | 'namespace' | 'name'>>,
  ): HistoryEntry<T>[];
  /** Interruptions of watches: when there is one, changes may be missing. */
  readonly interruptions: readonly string[];
  stop(): void;
}

/** Records every change of the given types from now on; what exists already comes first as `ADDED`. */
export async function recordHistory(
  watched: readonly { client: KubeClient; types: readonly ResourceType[] }[],
): Promise<History> {
  const entries: HistoryEntry[] = [];
  const interruptions: string[] = [];
  const controller = new AbortController();
  const onInterrupted = (problem: string): void => void interruptions.push(problem);
  await Promise.all(
    watched.flatMap(({ client, types }) =>
      types.map((resource) =>
        follow(client, resource, {
          signal: controller.signal,
          onInterrupted,
          onEvent: ({ type, object }) => entries.push(entry(type, resource.kind, object)),
        }),
      ),
    ),
  );
  return {
    entries,
    interruptions,
    of: <T extends KubeObject>(type: ResourceType, filter = {}) =>
      entries
        .filter((one) => one.kind === type.kind && matches(one, filter))
        .sort((a, b) => Number(a.resourceVersion) - Number(b.resourceVersion)) as HistoryEntry<T>[],
    stop: () => controller.abort(),
  };
}

function entry(type: HistoryEntry['type'], kind: string, object: KubeObject): HistoryEntry {
  const { namespace = '', name, resourceVersion = '' } = object.metadata;
  return { time: Date.now(), type, kind, namespace, name, resourceVersion, object };
}

function matches(one: HistoryEntry, filter: Partial<HistoryEntry>): boolean {
  return Object.entries(filter).every(([field, value]) => one[field as keyof HistoryEntry] === value);
}
