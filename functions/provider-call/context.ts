import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../../shared/errors.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import {
  type ConditionReport,
  type Phase,
  reportProgressing,
  reportReady,
  reportTerminating,
  RUNTIME_CONDITIONS,
  type StatusReport,
} from '../../shared/status.ts';
import { STOP_GRACE_MS } from '../../shared/tuning.ts';
import { RESOURCE_PHASES } from '../../shared/provider/schema/fixed-schemas.ts';
import { identityOf } from '../requests/desired.ts';
import { openCluster } from '../access/open.ts';
import { findLocalAddresses } from '../access/local-access.ts';
import type { GrantedAccess, SecretReference } from '../step/verdict.ts';
import type {
  Cluster,
  CommonContext,
  DeleteContext,
  ManagedResource,
  ProviderContext,
  ServiceObjectOf,
  StatusReporter,
} from '../../shared/provider/context.ts';
import type { Run } from '../step/run.ts';

/** Collects what a provider reports during one call. */
export class ReportCollector implements StatusReporter {
  #readiness: StatusReport | undefined;
  readonly #conditions = new Map<string, ConditionReport>();
  #fields: Record<string, unknown> = {};

  progressing(reason: string, message: string): void {
    this.#readiness = reportProgressing(reason, message);
  }

  ready(message?: string): void {
    this.#readiness = message === undefined ? reportReady() : reportReady(message);
  }

  condition(condition: ConditionReport): void {
    if (RUNTIME_CONDITIONS.includes(condition.type))
      throw new RuntimeError(
        'INVALID_PROVIDER',
        `condition ${condition.type} is the runtime's; name yours differently`,
      );
    this.#conditions.set(condition.type, condition);
  }

  resources(resources: readonly ManagedResource[]): void {
    for (const { kind, name, phase } of resources)
      if (!RESOURCE_PHASES.includes(phase))
        throw new RuntimeError(
          'INVALID_PROVIDER',
          `status.resources: ${kind} ${name} has the phase ${phase}; choose one of ${RESOURCE_PHASES.join(', ')}`,
        );
    this.set({ resources });
  }

  set(fields: Record<string, unknown>): void {
    for (const name of ['phase', 'observedGeneration', 'conditions'])
      if (name in fields)
        throw new RuntimeError('INVALID_PROVIDER', `status.${name} is the runtime's; use the methods for it`);
    this.#fields = { ...this.#fields, ...fields };
  }

  /** The report with what the provider said about readiness, or else `otherwise`. */
  report(otherwise: StatusReport, phase?: Phase): StatusReport {
    const readiness = this.#readiness ?? otherwise;
    return {
      phase: phase ?? readiness.phase,
      conditions: [...readiness.conditions, ...this.#conditions.values()],
      fields: this.#fields,
    };
  }

  /** During a deletion the object is never Ready, whatever the provider says. */
  terminatingReport(): StatusReport {
    const said = this.#readiness?.conditions[0];
    const base = said && said.status === 'False' ? reportTerminating(said.reason, said.message) : reportTerminating();
    return { ...base, conditions: [...base.conditions, ...this.#conditions.values()], fields: this.#fields };
  }
}

/** Everything a provider's call gets. Its clients refuse requests once the lease is over or the signal has fired. */
export async function providerContext(
  run: Run,
  granted: GrantedAccess & { readonly mcp: SecretReference },
  status: StatusReporter,
): Promise<ProviderContext<unknown>> {
  const [common, mcp] = await Promise.all([commonContext(run, granted, status), open(run, 'mcp', granted.mcp)]);
  return { ...common, mcp, mcpGone: false };
}

/** The same for a deletion, which goes on when the end user cluster is gone. */
export async function deleteContext(
  run: Run,
  granted: GrantedAccess,
  status: StatusReporter,
): Promise<DeleteContext<unknown>> {
  const { mcp } = granted;
  if (mcp !== 'gone') return providerContext(run, { ...granted, mcp }, status);
  return { ...(await commonContext(run, granted, status)), mcp: null, mcpGone: true };
}

async function open(run: Run, id: string, secret: SecretReference): Promise<Cluster> {
  return openCluster(run, secret, providerGuard(run), await findLocalAddresses(run, id));
}

async function commonContext(
  run: Run,
  granted: GrantedAccess,
  status: StatusReporter,
): Promise<CommonContext<unknown>> {
  if (run.config.state !== 'ok') throw new RuntimeError('NOT_READY', run.config.message);
  const guard = providerGuard(run);
  const [workload, ...clusters] = await Promise.all([
    granted.workload ? open(run, 'workload', granted.workload) : Promise.resolve<Cluster | null>(null),
    ...Object.entries(granted.clusters ?? {}).map(async ([id, cluster]): Promise<[string, Cluster]> => [
      id,
      await open(run, id, cluster),
    ]),
  ]);
  return {
    workload,
    clusters: Object.fromEntries(clusters),
    home: run.home.fenced(guard, run.signal),
    platform: run.platform.fenced(guard, run.signal),
    tenantNamespace: run.tenantNamespace,
    providerNamespace: run.providerNamespace,
    identity: identityOf(run.key),
    mode: run.key.mode,
    config: run.config.config,
    signal: run.signal,
    log: run.log,
    status,
  };
}

function providerGuard(run: Run): () => void {
  return () => {
    run.guard();
    if (run.signal.aborted)
      throw new RuntimeError('STALE_HOLDER', `the call was told to end (${String(run.signal.reason)})`);
  };
}

/**
 * A provider's call, left alone once it was told to end and did not: what it still does can't reach a cluster any more.
 * @throws RuntimeError `STALE_HOLDER`
 */
export async function untilStopped<T>(
  run: Pick<Run, 'signal'>,
  call: Promise<T>,
  graceMs: number = STOP_GRACE_MS,
): Promise<T> {
  const finished = new AbortController();
  const stopped = async (): Promise<never> => {
    if (!run.signal.aborted)
      await new Promise((resolve) => {
        run.signal.addEventListener('abort', resolve, { once: true, signal: finished.signal });
      });
    await sleep(graceMs, undefined, { signal: finished.signal });
    throw new RuntimeError(
      'STALE_HOLDER',
      `the provider's call did not end when told to (${String(run.signal.reason)})`,
    );
  };
  try {
    return await Promise.race([call, stopped()]);
  } finally {
    finished.abort();
  }
}

/**
 * The object as the provider declared it: checked against its schema, defaults filled in.
 * @throws RuntimeError `INVALID_OBJECT` naming the field
 */
export function parseObject(run: Run, object: ServiceObject): ServiceObjectOf<unknown> {
  const parsed = run.provider.api.spec.safeParse(object.spec ?? {});
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const field = ['spec', ...(issue?.path ?? [])].join('.');
    throw new RuntimeError('INVALID_OBJECT', `${field}: ${issue?.message ?? 'invalid'}`);
  }
  return { ...(object as unknown as ServiceObjectOf<unknown>), spec: parsed.data, status: object.status ?? {} };
}
