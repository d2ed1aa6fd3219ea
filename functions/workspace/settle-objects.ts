import { isAlreadyExists, isConflict } from '../../shared/kube/api-error.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { NAMESPACES } from '../../shared/kube/resources.ts';
import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';
import { RUNTIME_LABEL } from '../../shared/names.ts';
import { REASONS_BEFORE_INSTALL as REASON } from '../step/flow.ts';
import type { Run } from '../step/run.ts';
import type { Verdict } from '../step/verdict.ts';
import { FOREIGN_RETRY_MS } from '../tuning.ts';
import { marked, type Memory, objectId, type Plan, planObjects, remember, type Removal } from './decide-objects.ts';
import { keepMemory } from './memory.ts';
import { inWaves, type WorkspaceObject } from './objects.ts';

interface Seen {
  readonly type: ResourceType;
  readonly object: KubeObject;
}

export type Waiting = Extract<Verdict, { state: 'waiting' }>;

/** All of these types in the workspace that carry our label. What lies there may be anybody's. */
export async function labelled(
  run: Run,
  virtual: KubeClient,
  types: readonly ResourceType[],
  options: { metadataOnly?: boolean } = {},
): Promise<Seen[]> {
  const labelSelector = `${RUNTIME_LABEL}=${run.provider.name}`;
  const lists = await Promise.all(types.map((type) => virtual.list(type, { labelSelector, ...options })));
  return lists.flatMap(({ items }, index) => items.map((object) => ({ type: types[index] as ResourceType, object })));
}

/**
 * Sees to it that of these types exactly what is wanted lies in the workspace: what is missing is made, what was edited is
 * mended, what was wanted once is removed; nothing that isn't ours is touched. Namespaces stay until all goes.
 * @param seen what {@link labelled} has found
 * @returns what is in the way, and what is remembered from now on
 */
export async function settleObjects(
  run: Run,
  virtual: KubeClient,
  wanted: readonly WorkspaceObject[],
  types: readonly ResourceType[],
  seen: readonly Seen[],
  memory: Memory,
): Promise<{ memory: Memory; inTheWay?: Waiting }> {
  let plan = planObjects(wanted, seen, memory, types, [NAMESPACES]);
  const hidden = await withoutLabel(virtual, plan);
  if (hidden.length > 0) plan = planObjects(wanted, [...seen, ...hidden], memory, types, [NAMESPACES]);
  if (plan.foreign.length > 0) return { memory, inTheWay: foreignVerdict(plan.foreign) };
  if (plan.leaving.length > 0) return { memory, inTheWay: leavingVerdict(plan.leaving) };

  await removeAll(virtual, plan.remove);
  const made: WorkspaceObject[] = [];
  const taken: string[] = [];
  for (const wave of inWaves(run.provider.name, plan.create))
    await Promise.all(
      wave.map(async (want) => {
        try {
          made.push({ ...want, object: await virtual.create(want.type, marked(memory, want).object) });
        } catch (error) {
          if (!isAlreadyExists(error)) throw error;
          if (!want.anybodys) taken.push(objectId(want.type, want.object.metadata));
        }
      }),
    );
  await Promise.all(
    plan.mend.map(({ wanted: { type, object }, patch }) =>
      virtual.mergePatch(type, object.metadata.name, patch, { namespace: object.metadata.namespace }),
    ),
  );
  if (made.length + plan.mend.length + plan.remove.length > 0)
    run.log.info(
      { made: made.length, mended: plan.mend.length, removed: plan.remove.length },
      'objects in the workspace put right',
    );
  const kept = await keepMemory(run, memory, remember(plan.memory, made, plan.remove));
  return taken.length > 0 ? { memory: kept, inTheWay: foreignVerdict(taken) } : { memory: kept };
}

/** What is to be made may be there without our label: somebody else's, or ours from which somebody took it. */
async function withoutLabel(virtual: KubeClient, plan: Plan): Promise<Seen[]> {
  const known = plan.create.filter(
    ({ type, object }) => plan.memory.uids[objectId(type, object.metadata)] !== undefined,
  );
  const found = await Promise.all(
    known.map(async ({ type, object: { metadata } }) => {
      const object = await virtual.get(type, metadata.name, metadata.namespace);
      return object ? [{ type, object }] : [];
    }),
  );
  return found.flat();
}

/** Deletes by uid: one of that name that is another's is left alone. */
export async function removeAll(virtual: KubeClient, removals: readonly Removal[]): Promise<void> {
  for (const { type, name, namespace, uid } of removals)
    try {
      await virtual.delete(type, name, { namespace, uid });
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
}

function foreignVerdict(ids: readonly string[]): Waiting {
  const [first = '', ...more] = ids.map(displayId);
  return {
    state: 'waiting',
    reason: REASON.foreignObject,
    message:
      `${[first, ...more].join(', ')} in the workspace ${more.length > 0 ? 'are' : 'is'} not the service provider's, ` +
      'and it needs the name: delete or rename what is there',
    retryAfterMs: FOREIGN_RETRY_MS,
  };
}

function leavingVerdict(ids: readonly string[]): Waiting {
  return {
    state: 'waiting',
    reason: REASON.waitingForWorkspaceAccess,
    message: `${ids.map(displayId).join(', ')} of an earlier access is still being removed from the workspace`,
    retryAfterMs: 1_000,
  };
}

/** `Role service-provider-foo/mine` */
function displayId(id: string): string {
  const [kind, namespace, name] = id.split('/');
  return `${kind} ${namespace ? `${namespace}/` : ''}${name}`;
}
