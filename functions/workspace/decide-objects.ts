import { createHmac } from 'node:crypto';
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  NAMESPACES,
  ROLE_BINDINGS,
  ROLES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from '../../shared/kube/resources.ts';
import type { PolicyRule } from '../../shared/model/access.ts';
import { equal } from '../../shared/model/json.ts';
import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';
import { MARK_ANNOTATION, RUNTIME_LABEL } from '../../shared/names.ts';
import { isDeleting } from '../../shared/status.ts';
import type { WorkspaceObject } from './objects.ts';

/** Rights before the identities that have them, and all before the namespaces. */
export const REMOVAL_ORDER: readonly ResourceType[] = [
  ROLE_BINDINGS,
  CLUSTER_ROLE_BINDINGS,
  ROLES,
  CLUSTER_ROLES,
  SECRETS,
  SERVICE_ACCOUNTS,
  NAMESPACES,
];
export const RIGHTS: readonly ResourceType[] = REMOVAL_ORDER.filter(({ group }) => group === ROLES.group);

/**
 * What the platform knows of the objects that were made in a workspace. A tenant can write every label and annotation
 * there, so an object is ours by its uid; and one that was made in a pass that ended before it could remember that, by a
 * mark that nobody else could have put on it before.
 */
export interface Memory {
  /** What no tenant can know: the uid of the tenant namespace on the platform. */
  readonly key: string;
  /** That of the tenant namespace, as it was read. */
  readonly version: string | undefined;
  /** By {@link objectId}: uid of the one made last, with {@link REMOVED} behind it after we have removed that. */
  readonly uids: Readonly<Record<string, string>>;
  /** Access was made by a version that remembered nothing: there the label has to do, once. */
  readonly byLabel: boolean;
}

const REMOVED = '-';

/** `<kind>/<namespace>/<name>`. */
export function objectId({ kind }: ResourceType, { name, namespace = '' }: KubeObject['metadata']): string {
  return `${kind}/${namespace}/${name}`;
}

/** Differs for each time that an object is made: one that was seen before is worth nothing. */
export function markOf({ key, uids }: Memory, id: string): string {
  return createHmac('sha256', key)
    .update(`${id}/${uids[id] ?? ''}`)
    .digest('hex')
    .slice(0, 32);
}

export function marked(memory: Memory, wanted: WorkspaceObject): WorkspaceObject {
  const { type, object } = wanted;
  const annotations = {
    ...object.metadata.annotations,
    [MARK_ANNOTATION]: markOf(memory, objectId(type, object.metadata)),
  };
  return { ...wanted, object: { ...object, metadata: { ...object.metadata, annotations } } };
}

export function isMade(memory: Memory, type: ResourceType, { metadata }: KubeObject): boolean {
  const id = objectId(type, metadata);
  if (metadata.uid === memory.uids[id] || metadata.annotations?.[MARK_ANNOTATION] === markOf(memory, id)) return true;
  return memory.byLabel && metadata.labels?.[RUNTIME_LABEL] !== undefined;
}

/** One that is there, with the uid by which alone it is changed or removed. */
export interface Removal {
  readonly type: ResourceType;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly uid: string;
}

export interface Plan {
  readonly remove: readonly Removal[];
  readonly create: readonly WorkspaceObject[];
  readonly mend: readonly { readonly wanted: WorkspaceObject; readonly patch: object }[];
  /** Ids of objects that are not ours, and have names that we need. */
  readonly foreign: readonly string[];
  /** Ids of objects of ours that are on their way out. */
  readonly leaving: readonly string[];
  /** What is remembered, with what was found beside it. */
  readonly memory: Memory;
}

/**
 * What to do so that exactly what is wanted lies in the workspace.
 * @param seen all with our label and, where one that is wanted was not among them, that one
 * @param types what is looked at; of others nothing is made or removed
 * @param keep types of which nothing is removed
 */
export function planObjects(
  wanted: readonly WorkspaceObject[],
  seen: readonly { readonly type: ResourceType; readonly object: KubeObject }[],
  memory: Memory,
  types: readonly ResourceType[],
  keep: readonly ResourceType[] = [],
): Plan {
  const found = new Map(seen.map((each) => [objectId(each.type, each.object.metadata), each]));
  const needed = new Map(wanted.map((each) => [objectId(each.type, each.object.metadata), each]));
  const uids = { ...memory.uids };
  const plan = {
    create: [] as WorkspaceObject[],
    mend: [] as Plan['mend'][number][],
    foreign: [] as string[],
    leaving: [] as string[],
  };
  const remove: Removal[] = [];
  for (const [id, want] of needed) {
    if (!types.includes(want.type)) continue;
    const there = found.get(id)?.object;
    if (!there) plan.create.push(want);
    else if (!isMade(memory, want.type, there)) {
      // On its way out it is in nobody's way for long: it may be what was made for the object before.
      if (isDeleting(there)) plan.leaving.push(id);
      else if (!want.anybodys) plan.foreign.push(id);
    } else {
      const uid = (uids[id] = there.metadata.uid ?? '');
      const { name, namespace } = there.metadata;
      if (isDeleting(there)) plan.leaving.push(id);
      else if (isMovedBinding(want, there)) {
        remove.push({ type: want.type, name, namespace, uid });
        plan.create.push(want);
      } else {
        const patch = mendingPatch(want, there);
        if (patch) plan.mend.push({ wanted: want, patch });
      }
    }
  }
  for (const [id, { type, object }] of found) {
    const { name, namespace, uid = '' } = object.metadata;
    if (needed.has(id) || keep.includes(type) || isDeleting(object) || !isMade(memory, type, object)) continue;
    uids[id] = uid;
    remove.push({ type, name, namespace, uid });
  }
  // One from which somebody took our label is not among those seen.
  for (const [id, uid] of Object.entries(memory.uids)) {
    const [kind, namespace, name = ''] = id.split('/');
    const type = types.find((each) => each.kind === kind);
    if (!type || uid.endsWith(REMOVED) || needed.has(id) || found.has(id) || keep.includes(type)) continue;
    remove.push({ type, name, namespace: namespace === '' ? undefined : namespace, uid });
  }
  const order = ({ type }: Removal): number => REMOVAL_ORDER.indexOf(type);
  return { ...plan, remove: remove.toSorted((a, b) => order(a) - order(b)), memory: { ...memory, uids } };
}

/** Nothing has to be done, said or remembered. */
export function isSettled({ remove, create, mend, foreign, leaving, memory }: Plan, before: Memory): boolean {
  return [remove, create, mend, foreign, leaving].every((part) => part.length === 0) && equal(memory.uids, before.uids);
}

/** What is remembered once these were made and removed. */
export function remember(
  memory: Memory,
  made: readonly { readonly type: ResourceType; readonly object: KubeObject }[],
  removed: readonly Removal[],
): Memory {
  const uids = { ...memory.uids };
  for (const { type, name, namespace, uid } of removed)
    uids[objectId(type, { name, ...(namespace === undefined ? {} : { namespace }) })] = `${uid}${REMOVED}`;
  for (const { type, object } of made) uids[objectId(type, object.metadata)] = object.metadata.uid ?? '';
  return { ...memory, uids };
}

type Rights = KubeObject & {
  rules?: PolicyRule[];
  aggregationRule?: object;
  subjects?: { kind: string; name: string; namespace?: string }[];
  roleRef?: { kind: string; name: string };
};

/** kcp, as Kubernetes, lets nobody change what a binding refers to. */
function isMovedBinding({ object }: WorkspaceObject, there: KubeObject): boolean {
  const [want, has] = [(object as Rights).roleRef, (there as Rights).roleRef];
  return want !== undefined && (want.kind !== has?.kind || want.name !== has.name);
}

/** The merge patch that makes an object of ours what it has to be again; undefined where nothing differs. */
function mendingPatch({ object }: WorkspaceObject, there: KubeObject): object | undefined {
  const [want, has] = [object as Rights, there as Rights];
  const { labels, resourceVersion } = there.metadata;
  const relabel = Object.entries(object.metadata.labels ?? {}).some(([name, value]) => labels?.[name] !== value);
  const rules =
    want.rules !== undefined && (!sameRules(want.rules, has.rules ?? []) || has.aggregationRule !== undefined);
  const subjects = want.subjects !== undefined && !sameSubjects(want.subjects, has.subjects ?? []);
  if (!relabel && !rules && !subjects) return undefined;
  return {
    metadata: { resourceVersion, labels: object.metadata.labels },
    ...(rules ? { rules: want.rules, ...(has.aggregationRule ? { aggregationRule: null } : {}) } : {}),
    ...(subjects ? { subjects: want.subjects } : {}),
  };
}

/** An empty list and none are the same to the server. */
function sameRules(a: readonly PolicyRule[], b: readonly PolicyRule[]): boolean {
  const plain = (rules: readonly PolicyRule[]) =>
    rules.map(({ apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [], verbs }) => ({
      apiGroups,
      resources,
      resourceNames,
      nonResourceURLs,
      verbs,
    }));
  return equal(plain(a), plain(b));
}

function sameSubjects(a: NonNullable<Rights['subjects']>, b: NonNullable<Rights['subjects']>): boolean {
  const plain = (subjects: typeof a) => subjects.map(({ kind, name, namespace = '' }) => ({ kind, name, namespace }));
  return equal(plain(a), plain(b));
}
