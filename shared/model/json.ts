/** Deep equality of JSON values, whatever the order of fields. A field that is undefined is the same as none. */
export function equal(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = Object.entries(a).filter(([, value]) => value !== undefined);
  const right = new Map(Object.entries(b).filter(([, value]) => value !== undefined));
  return left.length === right.size && left.every(([name, value]) => right.has(name) && equal(value, right.get(name)));
}

/**
 * The JSON merge patch (RFC 7396) that makes `after` of `before`, or `undefined` when nothing differs. What `after` lacks
 * is removed, also inside objects: the new value alone, sent as a patch, would be merged into the old one.
 */
export function mergePatchOf(before: unknown, after: unknown): unknown {
  if (after === undefined || after === null) return before === undefined || before === null ? undefined : null;
  if (!isRecord(after)) return equal(before, after) ? undefined : after;
  const old = isRecord(before) ? before : {};
  const patch: Record<string, unknown> = {};
  for (const field of new Set([...Object.keys(old), ...Object.keys(after)])) {
    const change = mergePatchOf(old[field], after[field]);
    if (change !== undefined) patch[field] = change;
  }
  return isRecord(before) && Object.keys(patch).length === 0 ? undefined : patch;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
