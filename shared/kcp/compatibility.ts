import { type Schema, tightened } from './decide-tightened.ts';

/** `spec` of an APIResourceSchema. */
export interface SchemaSpec {
  names?: { kind?: string };
  scope?: string;
  versions?: {
    name: string;
    served?: boolean;
    storage?: boolean;
    schema?: object;
    subresources?: Record<string, unknown>;
  }[];
}

/**
 * Why objects that tenants have stored under the schema `before` would no longer be valid, or lose something, under
 * `after`, or why clients of theirs would no longer be served; empty when all stays as it is. kcp doesn't look: it serves
 * whatever an APIExport points to. A field that is taken away is no reason, as with CRDs: it is dropped when an object is
 * written next, and otherwise no provider could be rolled back.
 */
export function incompatibilities(before: SchemaSpec, after: SchemaSpec): string[] {
  const reasons: string[] = [];
  if (before.names?.kind !== after.names?.kind)
    reasons.push(`kind was ${before.names?.kind}, is now ${after.names?.kind}`);
  if (before.scope !== after.scope) reasons.push(`scope was ${before.scope}, is now ${after.scope}`);
  const [was, now] = [servedOf(before), servedOf(after)];
  for (const version of was) {
    const next = now.find(({ name }) => name === version.name);
    if (!next) {
      const hidden = after.versions?.some(({ name }) => name === version.name);
      reasons.push(`version ${version.name} is ${hidden ? 'no longer served' : 'gone'}`);
      continue;
    }
    for (const subresource of Object.keys(version.subresources ?? {}))
      if (!next.subresources?.[subresource]) reasons.push(`${version.name}: the subresource ${subresource} is gone`);
    reasons.push(...tightened(schemaOf(version), schemaOf(next), version.name));
  }
  // Versions are not converted: what was written in one is read in each.
  for (const added of now.filter(({ name }) => !was.some((version) => version.name === name)))
    for (const version of was)
      reasons.push(...tightened(schemaOf(version), schemaOf(added), `${added.name} (of an object of ${version.name})`));
  return [...new Set(reasons)];
}

type Version = NonNullable<SchemaSpec['versions']>[number];

function servedOf({ versions = [] }: SchemaSpec): Version[] {
  return versions.filter(({ served }) => served !== false);
}

function schemaOf({ schema }: Version): Schema {
  return schema ?? {};
}
