import { isRuntimeError, messageOf, RuntimeError } from '../../shared/errors.ts';
import type { AccessMethod, AccessSpec } from '../../shared/model/access.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { neverStarted } from '../step/flow.ts';
import type { ServiceObjectOf } from '../../shared/provider/context.ts';
import type { Run } from '../step/run.ts';
import { isDeleting } from '../../shared/status.ts';
import { orderedLast } from './ordered-last.ts';
import {
  type DesiredRequest,
  desiredMcpRequest,
  desiredWorkloadRequest,
  registrationsOf,
  requestIdentities,
} from './desired.ts';
import { registersWhatIsInForce } from './in-force.ts';
import type { Computed, DeclaredAccess, Registration } from '../../shared/provider/registration.ts';

/** What a provider declares for an object, computed for this pass. */
export interface Declared {
  /** The end user cluster's own rights; in kcp mode they are given in the workspace itself. */
  readonly mcp: AccessMethod;
  /** Requests on the platform cluster, in the order in which they are made. */
  readonly requests: readonly DesiredRequest[];
}

/**
 * What a provider declares for an object. For one that is being deleted and for which it can't be computed any more, since
 * something is gone that it was computed from, it is what was ordered last.
 * @throws RuntimeError `INVALID_PROVIDER` naming the field, where a function of the provider throws
 */
export async function declare(run: Run, object: ServiceObject): Promise<Declared> {
  try {
    return await compute(run, object);
  } catch (error) {
    const last = isDeleting(object) ? await orderedLast(run) : undefined;
    if (!last) throw error;
    run.log.warn(
      { err: error },
      'access can not be computed any more: the deletion goes on with what was ordered last',
    );
    return last;
  }
}

/** Computes everything that a provider may compute from object, ProviderConfig and its additional data. */
async function compute(run: Run, object: ServiceObject): Promise<Declared> {
  const { access } = run.provider;
  const config = run.config.state === 'ok' ? run.config.config : undefined;
  const known = object as unknown as ServiceObjectOf<unknown>;
  const data = await additionalData(run, object, known, config);
  const valueOf = <Value>(field: string, value: Computed<Value, unknown, unknown, unknown>): Promise<Value> =>
    named(field, () =>
      typeof value === 'function'
        ? (value as (object: unknown, config: unknown, data: unknown) => Value)(known, config, data)
        : value,
    );

  const mcp = methodOf(await valueOf<DeclaredAccess>('access.mcp', access.mcp));
  const requests: DesiredRequest[] = [];
  for (const identity of requestIdentities(run.key, run.provider)) {
    if (identity.id === 'mcp') requests.push(desiredMcpRequest(run.key, run.provider, mcp));
    else if (identity.id === 'workload') {
      const workload = methodOf(await valueOf<DeclaredAccess>('access.workload', access.workload));
      requests.push(desiredWorkloadRequest(run.key, run.provider, workload));
    } else {
      const { cluster, access: declared } = access.clusters[identity.id] as Registration<unknown, unknown, unknown>;
      const field = `access.clusters.${identity.id}`;
      requests.push({
        ...identity,
        access:
          declared === undefined ? undefined : methodOf(await valueOf<DeclaredAccess>(`${field}.access`, declared)),
        cluster:
          cluster.kind === 'order'
            ? { kind: 'order', spec: await valueOf(`${field}.cluster`, cluster.spec) }
            : { kind: cluster.kind, reference: await valueOf(`${field}.${cluster.kind}`, cluster.reference) },
      });
    }
  }
  const { key, provider, inForce: wantedUnder } = run;
  const keep = !registersWhatIsInForce(run);
  const [first, ...others] = requests.map((request) => ({ ...request, wantedUnder, keep }));
  if (!first) return { mcp, requests };
  const registrations = { ...registrationsOf(key, provider, requests), fresh: neverStarted(object) };
  return { mcp, requests: [{ ...first, registrations }, ...others] };
}

const remembered = new WeakMap<Run, { readonly version: string | undefined; readonly data: Promise<unknown> }>();

/** Computed once in an invocation, unless the object changed meanwhile: a provider may read clusters for it. */
function additionalData(
  run: Run,
  { metadata: { resourceVersion: version } }: ServiceObject,
  object: ServiceObjectOf<unknown>,
  config: unknown,
): Promise<unknown> {
  const { access } = run.provider;
  const before = remembered.get(run);
  if (before && before.version === version) return before.data;
  const { platform, home, tenantNamespace } = run;
  const data = Promise.resolve(access.additionalData?.(object, config, { platform, home, tenantNamespace }));
  remembered.set(run, { version, data });
  data.catch(() => remembered.delete(run));
  return data;
}

async function named<T>(field: string, compute: () => T | Promise<T>): Promise<T> {
  try {
    return await compute();
  } catch (error) {
    if (isRuntimeError(error, 'INVALID_PROVIDER')) throw error;
    throw new RuntimeError('INVALID_PROVIDER', `${field}: ${messageOf(error)}`, { cause: error });
  }
}

/** As the server stores it: fields with a default have one. */
function methodOf(declared: DeclaredAccess): AccessMethod {
  if (!('oidc' in declared)) return { token: declared };
  return { oidc: { groupsClaim: 'groups', usernameClaim: 'sub', ...declared.oidc } };
}

/** @throws RuntimeError `INVALID_PROVIDER` where people's login is asked for a kcp workspace */
export function tokenAccess(method: AccessMethod): AccessSpec {
  if ('token' in method) return method.token;
  throw new RuntimeError('INVALID_PROVIDER', 'access.mcp: a kcp workspace gives token access only, not oidc');
}
