import { OBJECT_ANNOTATION, UNINSTALLED_ANNOTATION } from '../../shared/names.ts';
import { parseObjectKey } from '../../shared/model/object-key.ts';
import type { HistoryEntry } from '../support/history.ts';
import { type JournalEntry, overlaps } from '../support/journal.ts';
import { position } from '../support/requests.ts';

/** What is known of a run when all of it has come to rest. */
export interface Evidence {
  readonly journal: readonly JournalEntry[];
  /** Of the objects, their requests and what is installed for them; all on one server, whose versions are one order. */
  readonly history: readonly HistoryEntry[];
  /** The kind of the objects. */
  readonly kind: string;
  /** By name, what each object was given last; undefined for one that was removed. */
  readonly wanted: ReadonlyMap<string, string | undefined>;
  /** By name, what is installed on its control plane. */
  readonly installed: ReadonlyMap<string, string | undefined>;
  /** By name, what is there of its requests. */
  readonly requests: ReadonlyMap<string, readonly string[]>;
}

/** Pure: the promises that were broken, each in words. */
export function brokenPromises(evidence: Evidence): string[] {
  return [
    ...overlaps(evidence.journal).map(
      ({ call, name, uid, run }) => `two runs at once: ${call} of ${name} (${uid}), run ${run}`,
    ),
    ...installsAfterDelete(evidence.journal),
    ...wrongInTheEnd(evidence),
    ...wrongOrder(evidence),
    ...orderedAfterRemoval(evidence),
  ];
}

/** An object that is being deleted is never installed again. */
function installsAfterDelete(journal: readonly JournalEntry[]): string[] {
  const deleting = new Set<string>();
  return journal.flatMap(({ event, call, uid, name }) => {
    if (event !== 'start') return [];
    if (call === 'delete') deleting.add(uid);
    return call === 'install' && deleting.has(uid) ? [`installed after its deletion: ${name} (${uid})`] : [];
  });
}

function wrongInTheEnd({ wanted, installed, requests }: Evidence): string[] {
  return [...wanted].flatMap(([name, value]) => {
    const broken: string[] = [];
    const found = installed.get(name);
    if (found !== value) broken.push(`${name}: ${String(found)} is installed, and ${String(value)} was wanted last`);
    const left = requests.get(name) ?? [];
    const expected = value === undefined ? 0 : 3;
    if (left.length !== expected)
      broken.push(`${name}: has ${left.length} requests instead of ${expected}: ${left.join(', ')}`);
    return broken;
  });
}

/** What goes with an object, the first to go first. */
const ORDER = ['AccessRequest wl', 'ClusterRequest wl', 'AccessRequest mcp'];

/** Workload cluster, end user cluster, object; and nothing of access before the provider's part. */
function wrongOrder({ history, kind }: Evidence): string[] {
  const gone = history.filter(({ type }) => type === 'DELETED');
  return gone
    .filter((entry) => entry.kind === kind)
    .flatMap((object) => {
      const of = gone.filter((entry) => ownerOf(entry)?.uid === object.object.metadata.uid);
      const went = of.toSorted((a, b) => position(a) - position(b)).map((entry) => `${entry.kind} ${suffixOf(entry)}`);
      const broken = went.length > 0 && went.join() !== ORDER.filter((each) => went.includes(each)).join();
      const late = of.filter((entry) => position(entry) > position(object));
      const early = of.filter((entry) => entry.kind === 'AccessRequest' && suffixOf(entry) === 'mcp').filter(unmarked);
      return [
        ...(broken ? [`${object.name}: went in the order ${went.join(', ')}`] : []),
        ...late.map((entry) => `${object.name}: ${entry.kind} ${suffixOf(entry)} went after it`),
        ...early.map(() => `${object.name}: its access went before its provider had said that all is gone`),
      ];
    });
}

function unmarked({ object: { metadata } }: HistoryEntry): boolean {
  return metadata.annotations?.[UNINSTALLED_ANNOTATION] === undefined;
}

/** Once a request of an object is being removed, none is ordered for it any more. */
function orderedAfterRemoval({ history, kind }: Evidence): string[] {
  const removed = new Map<string, number>();
  for (const entry of history) {
    const uid = ownerOf(entry)?.uid;
    if (entry.kind === kind || uid === undefined || entry.object.metadata.deletionTimestamp === undefined) continue;
    removed.set(uid, Math.min(removed.get(uid) ?? Infinity, position(entry)));
  }
  return history.flatMap((entry) => {
    const uid = ownerOf(entry)?.uid;
    if (entry.type !== 'ADDED' || uid === undefined) return [];
    return position(entry) > (removed.get(uid) ?? Infinity)
      ? [`${entry.kind} ${entry.name} was ordered for ${uid} after the removal of its requests had begun`]
      : [];
  });
}

function ownerOf({ object: { metadata } }: HistoryEntry) {
  const annotation = metadata.annotations?.[OBJECT_ANNOTATION];
  return annotation === undefined ? undefined : parseObjectKey(annotation);
}

/** `mcp` or `wl`. */
function suffixOf({ name }: HistoryEntry): string {
  return name.split('--').at(-1) ?? '';
}
