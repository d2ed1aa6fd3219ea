import type { Provider } from '../../../shared/provider/provider.ts';
import type { DeleteContext } from '../../../shared/provider/context.ts';
import foo from '../../../functions/providers/foo/provider.ts';
import { credentialsInKubeconfig } from '../secret-scan.ts';

/** Foo by an author who is careless with credentials: logs, reports and throws them. */
function blurtOut(ctx: DeleteContext<unknown>): string {
  const tokens = [ctx.mcp, ctx.workload].map(
    (cluster) => credentialsInKubeconfig('', cluster?.kubeconfig ?? '')[0]?.value,
  );
  ctx.log.info({ kubeconfig: ctx.mcp?.kubeconfig, tokens }, `calling with ${tokens.join(' and ')}`);
  ctx.log.error(new Error(`refused: ${ctx.workload?.kubeconfig}`));
  return tokens.join(' and ');
}

const leakyFoo: Provider = {
  ...foo,
  async createOrUpdate(ctx, object) {
    const said = blurtOut(ctx);
    const { foo: value } = object.spec as { foo?: string };
    if (value === 'throw') throw new Error(`no access with ${said}, that is ${ctx.mcp.kubeconfig}`);
    const result = await foo.createOrUpdate(ctx, object);
    ctx.status.condition({ type: 'Installed', status: 'True', reason: 'Done', message: `installed with ${said}` });
    if (value === 'report') ctx.status.progressing('Trying', `trying ${said}`);
    return result;
  },
  async delete(ctx, object) {
    blurtOut(ctx);
    return foo.delete(ctx, object);
  },
};

export default leakyFoo;
