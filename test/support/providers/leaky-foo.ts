import { parse } from 'yaml';
import type { Provider } from '../../../shared/provider/provider.ts';
import type { DeleteContext, ProviderContext } from '../../../shared/provider/context.ts';
import { SECRETS } from '../../../shared/kube/resources.ts';
import foo from '../../../functions/providers/foo/provider.ts';
import { credentialsInKubeconfig } from '../secret-scan.ts';

/** An address that only an error knows. */
export const RESOLVED = '10.98.76.54:6443';

/** Foo by an author who is careless with credentials: logs, reports and throws them. */
function blurtOut(ctx: DeleteContext<unknown>): string {
  const tokens = [ctx.mcp, ctx.workload].map(
    (cluster) => credentialsInKubeconfig('', cluster?.kubeconfig ?? '')[0]?.value,
  );
  ctx.log.info({ kubeconfig: ctx.mcp.kubeconfig, tokens }, `calling with ${tokens.join(' and ')}`);
  ctx.log.error(new Error(`refused: ${ctx.workload?.kubeconfig}`));
  return tokens.join(' and ');
}

/** What clusters say of themselves to who may not look, and where everything is. */
async function internals(ctx: ProviderContext<unknown>): Promise<string> {
  const denied = await ctx.mcp.client.list(SECRETS, { namespace: 'kube-system' }).then(
    () => 'not denied',
    (error: Error) => error.message,
  );
  const { clusters } = parse(ctx.mcp.kubeconfig) as { clusters: { cluster: { server: string } }[] };
  return (
    `${denied}; at ${clusters[0]?.cluster.server} in ${ctx.tenantNamespace}, Secret ${ctx.providerNamespace}/x: ` +
    `connect ECONNREFUSED ${RESOLVED}`
  );
}

const leakyFoo: Provider = {
  ...foo,
  async createOrUpdate(ctx, object) {
    const said = blurtOut(ctx);
    const { foo: value } = object.spec as { foo?: string };
    if (value === 'throw') throw new Error(`no access with ${said}, that is ${ctx.mcp.kubeconfig}`);
    if (value === 'throw-internals') throw new Error(`deep inside: ${await internals(ctx)}`);
    if (value === 'throw-denied') await ctx.mcp.client.list(SECRETS, { namespace: 'kube-system' });
    const result = await foo.createOrUpdate(ctx, object);
    ctx.status.condition({ type: 'Installed', status: 'True', reason: 'Done', message: `installed with ${said}` });
    if (value === 'report') ctx.status.progressing('Trying', `trying ${said}`);
    if (value === 'report-internals') {
      const message = `${await internals(ctx)}; ${said}`;
      ctx.status.progressing('Looking', message);
      ctx.status.resources([
        { kind: 'HelmRelease', name: 'foo', namespace: ctx.tenantNamespace, phase: 'Failed', message },
      ]);
      ctx.status.set({ foo: message });
    }
    return result;
  },
  async delete(ctx, object) {
    blurtOut(ctx);
    return foo.delete(ctx, object);
  },
};

export default leakyFoo;
