import { RuntimeError } from '../../shared/errors.ts';
import { absentClient, NOWHERE } from '../../shared/kube/absent-client.ts';
import { formatKubeconfig } from '../../shared/kube/kubeconfig.ts';
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
import { identityOf, requestIdentities, workspaceSecret } from '../requests/desired.ts';
import type { Run } from '../step/run.ts';
import { tenantClient } from './tenant-client.ts';
import type { AccessTo, GrantedAccess, SecretReference } from '../step/verdict.ts';

/** Everything a provider's call gets. Its clients refuse requests once the lease is over or the signal has fired. */
export async function providerContext(
  run: Run,
  granted: GrantedAccess & { readonly mcp: SecretReference },
  status: StatusReporter,
): Promise<ProviderContext<unknown>> {
  return { ...(await commonContext(run, granted, status)), mcpGone: false };
}

/** The same for a deletion, which goes on when the end user cluster is gone. */
export async function deleteContext(
  run: Run,
  granted: GrantedAccess,
  status: StatusReporter,
): Promise<DeleteContext<unknown>> {
  const ctx = await commonContext(run, granted, status);
  const leaving = <C extends Cluster>(cluster: C): C => ({ ...cluster, client: withoutGoneTypes(cluster.client) });
  return {
    ...ctx,
    mcp: leaving(ctx.mcp),
    mcpGone: granted.mcp === 'gone',
    workload: ctx.workload && leaving(ctx.workload),
    clusters: Object.fromEntries(Object.entries(ctx.clusters).map(([id, cluster]) => [id, leaving(cluster)])),
    platform: withoutGoneTypes(ctx.platform),
    home: withoutGoneTypes(ctx.home),
  };
}

async function open(run: Run, id: string, secret: AccessTo): Promise<Cluster> {
  if (secret === 'gone') return absent(run, id);
  // A tenant's workspace must not hold the place in which others are served.
  const limitMs = id === 'mcp' && run.workspace ? WORKSPACE_REQUEST_MS : undefined;
  return openCluster(run, secret, providerGuard(run), nameOf(id), await findLocalAddresses(run, id), limitMs);
}

/** A cluster that is gone, with the names that it had. */
function absent(run: Run, id: string): Cluster {
  const request = requestIdentities(run.key, run.provider).find((each) => each.id === id);
  const secretRef = request
    ? { name: request.name, namespace: request.namespace, key: 'kubeconfig' }
    : workspaceSecret(run);
  return { client: absentClient(nameOf(id)), kubeconfig: formatKubeconfig({ server: NOWHERE }), secretRef };
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
  const [mcp, workload, ...clusters] = await Promise.all([
    openTenants(run, granted.mcp),
    granted.workload ? open(run, 'workload', granted.workload) : Promise.resolve<Cluster | null>(null),
    ...Object.entries(granted.clusters ?? {}).map(async ([id, cluster]): Promise<[string, Cluster]> => [
      id,
      await open(run, id, cluster),
    ]),
  ]);
  return {
    mcp,
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

async function openTenants(run: Run, secret: AccessTo): Promise<Cluster> {
  const mcp = await open(run, 'mcp', secret);
  return { ...mcp, client: tenantClient(mcp.client, run) };
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
