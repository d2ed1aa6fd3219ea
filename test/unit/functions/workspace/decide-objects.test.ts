import { describe, expect, test } from 'vitest';
import {
  isSettled,
  markOf,
  marked,
  type Memory,
  objectId,
  planObjects,
  remember,
  REMOVAL_ORDER,
} from '../../../../functions/workspace/decide-objects.ts';
import { type WorkspaceObject, workspaceObjects } from '../../../../functions/workspace/objects.ts';
import { CLUSTER_ROLES, NAMESPACES } from '../../../../shared/kube/resources.ts';
import type { KubeObject } from '../../../../shared/model/kubernetes.ts';
import { THEN } from '../objects.ts';

const READ = { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] };
const WANTED = workspaceObjects('db', { permissions: [{ rules: [READ] }, { namespace: 'flux', rules: [READ] }] });
const EMPTY: Memory = { key: 'platform', version: '1', uids: {}, byLabel: false };

interface Seen {
  type: WorkspaceObject['type'];
  object: KubeObject & Record<string, unknown>;
}

/** As the server has them after they were made. */
const made = (wanted: readonly WorkspaceObject[] = WANTED): Seen[] =>
  wanted.map(({ type, object }, index) => ({
    type,
    object: { ...structuredClone(object), metadata: { ...structuredClone(object.metadata), uid: `uid-${index}` } },
  }));
const known = (seen: readonly Seen[], before = EMPTY): Memory => remember(before, seen, []);
const plan = (seen: readonly Seen[], memory: Memory, wanted = WANTED) =>
  planObjects(wanted, seen, memory, REMOVAL_ORDER, [NAMESPACES]);
const at = (seen: readonly Seen[], id: string): Seen => {
  const found = seen.find(({ type, object }) => objectId(type, object.metadata) === id);
  if (!found) throw new Error(`no ${id}`);
  return found;
};
const ACCESS = 'ClusterRole//service-provider-db-access-0';

describe('what is made in a workspace', () => {
  test('all of it where nothing is there, and nothing where all is', () => {
    expect(plan([], EMPTY).create).toEqual(WANTED);
    const seen = made();
    expect(isSettled(plan(seen, known(seen)), known(seen))).toBe(true);
  });

  test.each<[string, string, (object: Record<string, unknown>) => void, object]>([
    ['rules', ACCESS, (role) => (role['rules'] = [{ ...READ, verbs: ['*'] }]), { rules: [READ] }],
    ['rules that are gone', ACCESS, (role) => delete role['rules'], { rules: [READ] }],
    [
      'rules that are computed from others',
      ACCESS,
      (role) => (role['aggregationRule'] = {}),
      { rules: [READ], aggregationRule: null },
    ],
    [
      'subjects',
      'ClusterRoleBinding//service-provider-db-access-0',
      (binding) => (binding['subjects'] = []),
      { subjects: [{ kind: 'ServiceAccount', name: 'service-provider-db', namespace: 'service-provider-db' }] },
    ],
  ])('edited %s are mended', (_what, id, edit, patch) => {
    const seen = made();
    edit(at(seen, id).object);
    const { mend, create, remove } = plan(seen, known(seen));
    expect(mend).toHaveLength(1);
    expect(mend[0]?.patch).toMatchObject(patch);
    expect([create, remove]).toEqual([[], []]);
  });

  test('our label comes back', () => {
    const seen = made();
    at(seen, ACCESS).object.metadata.labels = { theirs: 'x' };
    expect(plan(seen, known(seen)).mend).toHaveLength(1);
  });

  test('an empty list and none are the same, and so are groups that a server fills in', () => {
    const seen = made();
    at(seen, ACCESS).object['rules'] = [{ ...READ, resourceNames: [], nonResourceURLs: [] }];
    const binding = at(seen, 'ClusterRoleBinding//service-provider-db-access-0').object;
    binding['subjects'] = (binding['subjects'] as object[]).map((each) => ({ ...each, apiGroup: '' }));
    expect(isSettled(plan(seen, known(seen)), known(seen))).toBe(true);
  });

  test('a binding that refers to another role is made anew', () => {
    const seen = made();
    const id = 'RoleBinding/flux/service-provider-db-access-1';
    const { object } = at(seen, id);
    object['roleRef'] = { kind: 'ClusterRole', name: 'cluster-admin' };
    const { remove, create } = plan(seen, known(seen));
    expect(remove).toMatchObject([{ name: object.metadata.name, namespace: 'flux', uid: object.metadata.uid }]);
    expect(create.map(({ type, object: { metadata } }) => objectId(type, metadata))).toEqual([id]);
  });

  test('one on its way out is waited for', () => {
    const seen = made();
    at(seen, ACCESS).object.metadata.deletionTimestamp = THEN;
    expect(plan(seen, known(seen)).leaving).toEqual([ACCESS]);
  });
});

describe("somebody else's", () => {
  test.each([
    ['ClusterRole', ACCESS],
    ['ServiceAccount', 'ServiceAccount/service-provider-db/service-provider-db'],
    ['Namespace', 'Namespace//service-provider-db'],
  ])('%s of our name is not taken over, whatever label and mark it has', (_kind, id) => {
    const seen = made();
    const memory = known(seen);
    const { object } = at(seen, id);
    const first = markOf(EMPTY, id);
    object.metadata = {
      ...object.metadata,
      uid: 'planted',
      annotations: { 'service-provider.open-control-plane.io/mark': first },
    };
    const { foreign, mend, remove } = plan(seen, memory);
    expect(foreign).toEqual([id]);
    expect([mend, remove]).toEqual([[], []]);
  });

  test.each(['Namespace//service-provider-db', 'Namespace//flux'])(
    '%s that is on its way out is waited for, whoever made it',
    (id) => {
      const seen = made();
      at(seen, id).object.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
      const { foreign, leaving } = plan(seen, { ...known(seen), uids: {} });
      expect(leaving).toEqual([id]);
      expect(foreign).not.toContain(id);
    },
  );

  test('namespace that a permission is for is used as it is', () => {
    const seen = made();
    const memory = known(seen.filter(({ object }) => object.metadata.name !== 'flux'));
    at(seen, 'Namespace//flux').object.metadata = { name: 'flux', uid: 'theirs' };
    expect(isSettled(plan(seen, memory), memory)).toBe(true);
    expect(planObjects([], seen, memory, REMOVAL_ORDER).remove.map(({ name }) => name)).not.toContain('flux');
  });

  test('object with our label is not removed', () => {
    const seen = made();
    const planted: Seen = {
      type: CLUSTER_ROLES,
      object: { metadata: { ...at(seen, ACCESS).object.metadata, name: 'theirs', uid: 'theirs' } },
    };
    const memory = known(seen);
    expect(isSettled(plan([...seen, planted], memory), memory)).toBe(true);
    expect(planObjects([], [...seen, planted], memory, REMOVAL_ORDER).remove).toHaveLength(seen.length);
  });
});

describe('what was made once', () => {
  const others = workspaceObjects('db', { permissions: [{ rules: [READ] }] });

  test('and is not wanted any more is removed, rights first, and namespaces stay', () => {
    const seen = made();
    const { remove } = plan(seen, known(seen), others);
    expect(remove.map(({ type }) => type.kind)).toEqual(['RoleBinding', 'Role']);
  });

  test('is removed although somebody took our label off', () => {
    const seen = made();
    const memory = known(seen);
    const left = seen.filter(({ object }) => object.metadata.name !== 'service-provider-db-access-1');
    const { remove } = plan(left, memory, others);
    expect(remove).toHaveLength(2);
    const after = remember(memory, [], remove);
    expect(isSettled(plan(left, after, others), after)).toBe(true);
  });

  test('by a pass that ended before it could remember it is known by its mark', () => {
    const seen = made(WANTED.map((each) => marked(EMPTY, each)));
    const { foreign, memory, create } = plan(seen, EMPTY);
    expect([foreign, create]).toEqual([[], []]);
    expect(memory.uids[ACCESS]).toBe(at(seen, ACCESS).object.metadata.uid);
    expect(isSettled(plan(seen, EMPTY), EMPTY)).toBe(false);
  });

  test('has another mark each time, and one of another platform is worth nothing', () => {
    const removed = remember(
      known(made()),
      [],
      [{ type: CLUSTER_ROLES, name: 'service-provider-db-access-0', namespace: undefined, uid: 'uid-5' }],
    );
    const marks = [EMPTY, known(made()), removed, { ...EMPTY, key: 'other' }].map((memory) => markOf(memory, ACCESS));
    expect(new Set(marks).size).toBe(4);
  });

  test('by a version that remembered nothing is known by our label, once', () => {
    const seen = made();
    expect(plan(seen, EMPTY).foreign.length).toBeGreaterThan(0);
    expect(plan(seen, { ...EMPTY, byLabel: true }).foreign).toEqual([]);
  });
});
