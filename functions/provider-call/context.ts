import { RuntimeError } from '../../shared/errors.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { formatObjectKey } from '../../shared/model/object-key.ts';
import type {
  Cluster,
  CommonContext,
  DeleteContext,
  ProviderContext,
  ServiceObjectOf,
  StatusReporter,
} from '../../shared/provider/context.ts';
import { withoutGoneTypes } from '../../shared/provider/type-gone.ts';
import { WORKSPACE_REQUEST_MS } from '../../shared/tuning.ts';
import { findLocalAddresses } from '../access/local-access.ts';
import { openCluster } from '../access/open.ts';
import { identityOf } from '../requests/desired.ts';
import type { Run } from '../step/run.ts';
import { tenantClient } from './tenant-client.ts';
import type { GrantedAccess, SecretReference } from '../step/verdict.ts';

/** Everything a provider's call gets. Its clients refuse requests once the lease is over or the signal has fired. */
export async function providerContext(
  run: Run,
  granted: GrantedAccess & { readonly mcp: SecretReference },
  status: StatusReporter,
): Promise<ProviderContext<unknown>> {
  const [common, mcp] = await Promise.all([commonContext(run, granted, status), open(run, 'mcp', granted.mcp)]);
  return { ...common, mcp: { ...mcp, client: tenantClient(mcp.client, run) }, mcpGone: false };
}

/** The same for a deletion, which goes on when the end user cluster is gone. */
export async function deleteContext(
  run: Run,
  granted: GrantedAccess,
  status: StatusReporter,
): Promise<DeleteContext<unknown>> {
  const { mcp } = granted;
  const ctx: DeleteContext<unknown> =
    mcp === 'gone'
      ? { ...(await commonContext(run, granted, status)), mcp: null, mcpGone: true }
      : await providerContext(run, { ...granted, mcp }, status);
  const leaving = <C extends Cluster>(cluster: C): C => ({ ...cluster, client: withoutGoneTypes(cluster.client) });
  return {
    ...ctx,
    ...(ctx.mcp ? { mcp: leaving(ctx.mcp) } : {}),
    workload: ctx.workload && leaving(ctx.workload),
    clusters: Object.fromEntries(Object.entries(ctx.clusters).map(([id, cluster]) => [id, leaving(cluster)])),
    platform: withoutGoneTypes(ctx.platform),
    home: withoutGoneTypes(ctx.home),
  } as DeleteContext<unknown>;
}

async function open(run: Run, id: string, secret: SecretReference): Promise<Cluster> {
  // A tenant's workspace must not hold the place in which others are served.
  const limitMs = id === 'mcp' && run.workspace ? WORKSPACE_REQUEST_MS : undefined;
  return openCluster(run, secret, providerGuard(run), nameOf(id), await findLocalAddresses(run, id), limitMs);
}

/** What a cluster is to tenants. */
function nameOf(id: string): string {
  if (id === 'mcp') return 'the end user cluster';
  return id === 'workload' ? 'the workload cluster' : `the cluster ${id}`;
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
    home: tenantClient(run.home.fenced(guard, run.signal), run),
    platform: run.platform.fenced(guard, run.signal),
    tenantNamespace: run.tenantNamespace,
    providerNamespace: run.providerNamespace,
    identity: identityOf(run.key),
    owner: formatObjectKey(run.key),
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
