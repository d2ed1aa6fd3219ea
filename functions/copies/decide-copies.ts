import { RuntimeError } from '../../shared/errors.ts';
import { shortenName } from '../../shared/names.ts';
import type { ServiceObjectOf } from '../../shared/provider/context.ts';
import type { CopyFor, ReferencedSecret } from '../../shared/provider/references.ts';

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
