import { RuntimeError } from '../errors.ts';
import type { Mode } from '../model/object-key.ts';
import { shortenName } from '../names.ts';
import type { ServiceObjectOf } from './define.ts';

/** Where a copy of a Secret is kept for an object. */
export type CopyTarget =
  /** The tenant's namespace on the platform cluster; default name `sp-<provider>-<name>`, since others copy there too. */
  | { cluster: 'tenant'; name?: string }
  /**
   * The end user cluster, the workload cluster or one of `access.clusters`. The namespace is created where it is missing.
   * Needs rights there: `get`, `create`, `patch` and `delete` of secrets, and `create` and `patch` of namespaces unless
   * the namespace exists. Default name: that of the Secret.
   */
  | { cluster: 'mcp' | 'workload' | (string & {}); namespace: string; name?: string };

/** For whom a copy is made. */
export interface CopyFor {
  /** As `ctx.identity`. */
  readonly identity: string;
  readonly tenantNamespace: string;
  readonly mode: Mode;
}

/** A Secret in the provider's own namespace; as a plain name it is watched, and not copied. */
export interface ReferencedSecret<Spec> {
  name: string;
  copyTo?: readonly CopyTarget[] | ((object: ServiceObjectOf<Spec>, to: CopyFor) => readonly CopyTarget[]);
}

/** One copy that has to be. */
export interface DesiredCopy {
  /** Name of the Secret in the provider's namespace. */
  readonly source: string;
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
}

/**
 * Pure: all copies that an object needs.
 * @throws RuntimeError `INVALID_PROVIDER` where two Secrets would be copied to one place
 */
export function desiredCopies<Spec>(
  provider: string,
  references: readonly (string | ReferencedSecret<Spec>)[],
  object: ServiceObjectOf<Spec>,
  to: CopyFor,
): DesiredCopy[] {
  const copies = references.flatMap((reference) => {
    if (typeof reference === 'string' || !reference.copyTo) return [];
    const { name: source, copyTo } = reference;
    const targets = typeof copyTo === 'function' ? copyTo(object, to) : copyTo;
    return targets.map((target): DesiredCopy =>
      'namespace' in target
        ? { source, cluster: target.cluster, namespace: target.namespace, name: target.name ?? source }
        : {
            source,
            cluster: 'tenant',
            namespace: to.tenantNamespace,
            name: target.name ?? shortenName(`sp-${provider}-${source}`),
          },
    );
  });
  const taken = new Map<string, string>();
  for (const { source, cluster, namespace, name } of copies) {
    const place = `${namespace}/${name} on the ${cluster} cluster`;
    const other = taken.get(place) ?? source;
    if (other !== source)
      throw new RuntimeError(
        'INVALID_PROVIDER',
        `referencedSecrets: ${other} and ${source} are both copied to ${place}; give one another name`,
      );
    taken.set(place, source);
  }
  return copies;
}
