/** A structural schema, as far as compatibility goes. */
interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema;
  required?: string[];
  enum?: unknown[];
  default?: unknown;
}

/** `spec` of an APIResourceSchema. */
export interface SchemaSpec {
  names?: { kind?: string };
  scope?: string;
  versions?: { name: string; schema?: object }[];
}

/**
 * Why objects that tenants have stored under the schema `before` would no longer be valid under `after`; empty when they
 * stay valid. kcp doesn't look: it serves whatever an APIExport points to. A field that is taken away is no reason, as
 * with CRDs: it is dropped when an object is written next, and otherwise no provider could be rolled back.
 */
export function incompatibilities(before: SchemaSpec, after: SchemaSpec): string[] {
  const reasons: string[] = [];
  if (before.names?.kind !== after.names?.kind)
    reasons.push(`kind was ${before.names?.kind}, is now ${after.names?.kind}`);
  if (before.scope !== after.scope) reasons.push(`scope was ${before.scope}, is now ${after.scope}`);
  for (const version of before.versions ?? []) {
    const now = after.versions?.find(({ name }) => name === version.name);
    if (now) compare(version.schema ?? {}, now.schema ?? {}, version.name, reasons);
    else reasons.push(`version ${version.name} is gone`);
  }
  return reasons;
}

function compare(before: Schema, after: Schema, path: string, reasons: string[]): void {
  // A schema without a type takes anything.
  if (
    after.type !== undefined &&
    before.type !== after.type &&
    !(before.type === 'integer' && after.type === 'number')
  ) {
    reasons.push(`${path}: type was ${before.type ?? 'anything'}, is now ${after.type}`);
    return;
  }
  const lost = before.enum?.filter((value) => after.enum && !after.enum.includes(value)) ?? [];
  if (lost.length > 0) reasons.push(`${path}: no longer allows ${lost.join(', ')}`);
  if (!before.enum && after.enum) reasons.push(`${path}: now only allows ${after.enum.join(', ')}`);
  for (const name of after.required ?? []) {
    const isNew = !before.required?.includes(name) && after.properties?.[name]?.default === undefined;
    if (isNew) reasons.push(`${path}.${name}: is now required`);
  }
  for (const [name, field] of Object.entries(before.properties ?? {})) {
    const now = after.properties?.[name];
    if (now) compare(field, now, `${path}.${name}`, reasons);
  }
  if (before.items && after.items) compare(before.items, after.items, `${path}[]`, reasons);
  if (before.additionalProperties && after.additionalProperties)
    compare(before.additionalProperties, after.additionalProperties, `${path}.*`, reasons);
}
