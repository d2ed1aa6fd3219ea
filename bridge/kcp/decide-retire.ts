import type { KubeObject } from '../../shared/model/kubernetes.ts';

/**
 * Pure: which of our APIResourceSchemas nothing needs any more. kcp deletes one in use without a word, and then the type
 * is gone from its workspaces, so everything that may still use it counts: APIExports, bindings that have not moved yet,
 * and another bridge that has made a schema and not yet exported it.
 * @param schemas those with our label
 * @param used names that APIExports or APIBindings refer to
 */
export function retiredSchemas(
  schemas: readonly KubeObject[],
  type: { group: string; plural: string },
  used: ReadonlySet<string>,
  now: Date,
  graceMs: number,
): KubeObject[] {
  return schemas.filter(
    ({ metadata }) =>
      metadata.name.endsWith(`.${type.plural}.${type.group}`) &&
      !used.has(metadata.name) &&
      now.getTime() - Date.parse(metadata.creationTimestamp ?? now.toISOString()) >= graceMs,
  );
}
