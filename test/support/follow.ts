import { setTimeout as sleep } from 'node:timers/promises';
import { isInvalid } from '../../shared/kube/api-error.ts';
import type { KubeClient, WatchEvent } from '../../shared/kube/ports.ts';
import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';

const RETRY_MS = 200;

export interface FollowOptions<T extends KubeObject> {
  signal: AbortSignal;
  onEvent: (event: { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: T }) => void;
  /** Called after each interruption. What happened meanwhile comes as `ADDED`, deletions then are not told. */
  onInterrupted?: (problem: string) => void;
}

/**
 * Follows all objects of a type: what is there comes first as `ADDED`, then every change, until `signal` fires.
 * Resolves once the first list is through; goes on in the background.
 */
export async function follow<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType,
  options: FollowOptions<T>,
): Promise<void> {
  let listed: () => void;
  const firstList = new Promise<void>((resolve) => (listed = resolve));
  void run(client, type, options, () => listed());
  await firstList;
}

async function run<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType,
  { signal, onEvent, onInterrupted }: FollowOptions<T>,
  onListed: () => void,
): Promise<void> {
  let resourceVersion: string | undefined;
  let listsFirst = false;
  while (!signal.aborted) {
    try {
      if (resourceVersion === undefined && listsFirst) {
        const { items, metadata } = await client.list<T>(type);
        for (const object of items) onEvent({ type: 'ADDED', object });
        resourceVersion = metadata.resourceVersion;
        onListed();
      }
      const position = resourceVersion ? { resourceVersion } : { sendInitialEvents: true };
      for await (const event of client.watch<T>(type, { ...position, signal })) {
        if (event.type === 'ERROR') {
          // 410: our position is too old. 500: the type's schema changed. Both need a new list.
          resourceVersion = undefined;
          throw new Error(`${type.plural}: ${event.object.code} ${event.object.message}`);
        }
        resourceVersion = event.object.metadata.resourceVersion;
        if (isEndOfList(event)) onListed();
        else if (event.type !== 'BOOKMARK') onEvent({ type: event.type, object: event.object });
      }
    } catch (error) {
      if (signal.aborted) return;
      // The server does not tell by a watch what is there.
      if (isInvalid(error)) listsFirst = true;
      onInterrupted?.(error instanceof Error ? error.message : String(error));
      await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}

function isEndOfList(event: WatchEvent): boolean {
  return event.type === 'BOOKMARK' && event.object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true';
}
