import type { ResourceType } from '../model/kubernetes.ts';

/** Paths of the Kubernetes API below a server's address. */
export function collectionPath(type: ResourceType, namespace?: string): string {
  const root = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  return namespace ? `${root}/namespaces/${encodeURIComponent(namespace)}/${type.plural}` : `${root}/${type.plural}`;
}

export function objectPath(type: ResourceType, name: string, namespace?: string, subresource?: string): string {
  const path = `${collectionPath(type, namespace)}/${encodeURIComponent(name)}`;
  return subresource ? `${path}/${subresource}` : path;
}
