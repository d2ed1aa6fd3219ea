import { ApiError } from '../../shared/kube/api-error.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import type { DeleteOptions, ListOptions, PatchOptions } from '../../shared/kube/ports.ts';
import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';

/** What an API server does with preconditions, for tests of what is written under which: no server is needed for that. */
export class MemoryCluster {
  /** By {@link pathOf}. */
  readonly objects = new Map<string, KubeObject>();
  readonly writes: string[] = [];
  #version = 0;

  get client(): HttpKubeClient {
    return this as unknown as HttpKubeClient;
  }

  get server(): string {
    return 'https://memory.example.org';
  }

  fenced(): this {
    return this;
  }

  /** As somebody else writes it, whatever was there. */
  put({ kind }: ResourceType, object: KubeObject): KubeObject {
    const path = pathOf(kind, object.metadata.name, object.metadata.namespace);
    const version = String((this.#version += 1));
    const uid = object.metadata.uid ?? this.objects.get(path)?.metadata.uid ?? `uid-of-${version}`;
    const stored = structuredClone({ ...object, metadata: { ...object.metadata, uid, resourceVersion: version } });
    this.objects.set(path, stored);
    return structuredClone(stored);
  }

  async get<T extends KubeObject>({ kind }: ResourceType, name: string, namespace?: string): Promise<T | undefined> {
    return structuredClone(this.objects.get(pathOf(kind, name, namespace))) as T | undefined;
  }

  async list({ kind }: ResourceType, options: ListOptions = {}): Promise<{ items: KubeObject[] }> {
    const [label, value] = (options.labelSelector ?? '').split('=');
    const matches = ({ metadata: { namespace, labels = {} } }: KubeObject): boolean =>
      (options.namespace === undefined || namespace === options.namespace) &&
      (!label || (value === undefined ? label in labels : labels[label] === value));
    const all = [...this.objects].filter(([path, object]) => path.startsWith(`${kind} `) && matches(object));
    return { items: structuredClone(all.map(([, object]) => object)).slice(0, options.atMost) };
  }

  async create<T extends KubeObject>(type: ResourceType, object: T): Promise<T> {
    const { name, namespace } = object.metadata;
    this.writes.push(`create ${pathOf(type.kind, name, namespace)}`);
    if (this.objects.has(pathOf(type.kind, name, namespace))) throw answer(409, 'AlreadyExists', name);
    return this.put(type, object) as T;
  }

  async mergePatch<T extends KubeObject>(
    type: ResourceType,
    name: string,
    patch: object,
    { namespace }: PatchOptions = {},
  ): Promise<T> {
    const path = pathOf(type.kind, name, namespace);
    this.writes.push(`patch ${path}`);
    const there = this.#require(path, name);
    const { metadata = {} } = patch as { metadata?: { uid?: string; resourceVersion?: string } };
    this.#check(there, metadata);
    return this.put(type, merged(there, patch) as KubeObject) as T;
  }

  async apply<T extends KubeObject>(type: ResourceType, object: T): Promise<T> {
    const { name, namespace, uid, resourceVersion } = object.metadata;
    const path = pathOf(type.kind, name, namespace);
    this.writes.push(`apply ${path}`);
    const there = this.objects.get(path);
    // What is to be that very one can't be made anew.
    if ((uid ?? resourceVersion) !== undefined) this.#check(there ?? { metadata: { name } }, object.metadata);
    return this.put(type, { ...there, ...object }) as T;
  }

  async delete({ kind }: ResourceType, name: string, options: DeleteOptions = {}): Promise<boolean> {
    const path = pathOf(kind, name, options.namespace);
    this.writes.push(`delete ${path}`);
    const there = this.objects.get(path);
    if (!there) return false;
    this.#check(there, options);
    return this.objects.delete(path);
  }

  #require(path: string, name: string): KubeObject {
    const there = this.objects.get(path);
    if (!there) throw answer(404, 'NotFound', name);
    return there;
  }

  #check({ metadata }: KubeObject, wanted: { uid?: string | undefined; resourceVersion?: string | undefined }): void {
    const differs = (['uid', 'resourceVersion'] as const).some(
      (field) => wanted[field] !== undefined && wanted[field] !== metadata[field],
    );
    if (differs) throw answer(409, 'Conflict', metadata.name);
  }
}

/** `<kind> <namespace>/<name>`. */
export function pathOf(kind: string, name: string, namespace = ''): string {
  return `${kind} ${namespace}/${name}`;
}

function answer(status: number, reason: string, name: string): ApiError {
  return new ApiError(`memory ${name}`, status, { reason, message: reason, details: { name } });
}

/** RFC 7396. */
function merged(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> = typeof target === 'object' && target !== null ? { ...target } : {};
  for (const [name, value] of Object.entries(patch))
    if (value === null) delete result[name];
    else result[name] = merged(result[name], value);
  return result;
}
