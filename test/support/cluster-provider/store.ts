import type { KubeClient } from '../../../shared/kube/ports.ts';
import type { KubeObject, ResourceType } from '../../../shared/model/kubernetes.ts';
import { follow } from '../follow.ts';

/** The objects of one type as a watch tells them, by `namespace/name`. */
export class Store<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #client: KubeClient;
  readonly #type: ResourceType;

  constructor(client: KubeClient, type: ResourceType) {
    this.#client = client;
    this.#type = type;
  }

  /** Resolves when what exists is known. */
  async follow(signal: AbortSignal, onChange: (key: string, object: T, deleted: boolean) => void): Promise<void> {
    await follow<T>(this.#client, this.#type, {
      signal,
      onEvent: ({ type, object }) => {
        const key = keyOf(object);
        if (type === 'DELETED') this.#objects.delete(key);
        else this.#objects.set(key, object);
        onChange(key, object, type === 'DELETED');
      },
    });
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  /** Reads it from the server, for one that a conflict has shown to be out of date. */
  async refresh(key: string): Promise<T | undefined> {
    const [namespace, name] = key.split('/') as [string, string];
    const object = await this.#client.get<T>(this.#type, name, namespace);
    if (object) this.#objects.set(key, object);
    else this.#objects.delete(key);
    return object;
  }

  all(): T[] {
    return [...this.#objects.values()];
  }
}

export function keyOf(object: { metadata: { namespace?: string; name: string } }): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}
