import { RuntimeError } from '../../shared/errors.ts';
import { createWithNamespace } from '../../shared/kube/create.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { SECRETS } from '../../shared/kube/resources.ts';
import type { Secret } from '../../shared/model/access.ts';
import { formatObjectKey } from '../../shared/model/object-key.ts';
import type { DeleteContext, ServiceObjectOf } from '../../shared/provider/context.ts';
import type { Run } from '../step/run.ts';
import { type CopyOwner, decideCopy, isOurCopy, outdatedCopies } from './decide-copy.ts';
import { CopyRecord } from './record.ts';
import { type DesiredCopy, desiredCopies } from './decide-copies.ts';

type Context = DeleteContext<unknown>;

/**
 * Brings the copies of an object's Secrets to where the provider wants them, and removes those it does not want any more.
 * @returns the name of a Secret that does not exist yet; `undefined` when all is as declared
 */
export async function syncCopies(
  run: Run,
  ctx: Context,
  object: ServiceObjectOf<unknown>,
): Promise<string | undefined> {
  const { referencedSecrets } = run.provider;
  if (!referencedSecrets) return undefined;
  const { identity, tenantNamespace, mode } = ctx;
  const references = referencedSecrets(ctx.config);
  const desired = desiredCopies(run.provider.name, references, object, { identity, tenantNamespace, mode });
  const record = new CopyRecord(run);
  const before = await record.read();
  const outdated = outdatedCopies(before, desired);
  await record.write(before, [...desired, ...outdated]);
  for (const copy of outdated) await removeCopy(run, ctx, copy);
  await record.write([...desired, ...outdated], desired);
  const sources = new Map<string, Secret>();
  for (const name of new Set(desired.map(({ source }) => source))) {
    const source = await run.platform.get<Secret>(SECRETS, name, run.providerNamespace);
    if (!source) return `${run.providerNamespace}/${name}`;
    sources.set(name, source);
  }
  for (const copy of desired) await bring(clusterOf(ctx, copy), copy, sources.get(copy.source) as Secret, ownerOf(run));
  return undefined;
}

/** Removes every copy that was ever made for the object. */
export async function removeCopies(run: Run, ctx: Context): Promise<void> {
  if (!run.provider.referencedSecrets) return;
  const record = new CopyRecord(run);
  const copies = await record.read();
  for (const copy of copies) await removeCopy(run, ctx, copy);
  if (copies.length > 0) await record.remove();
}

function ownerOf(run: Run): CopyOwner {
  return { controllerName: run.provider.controllerName, annotation: formatObjectKey(run.key) };
}

function clusterOf(ctx: Context, { cluster, source }: DesiredCopy): KubeClient {
  const found = clusterNamed(ctx, cluster);
  if (found) return found;
  throw new RuntimeError(
    'INVALID_PROVIDER',
    `referencedSecrets: ${source} is copied to ${cluster}, to which there is no access`,
  );
}

function clusterNamed(ctx: Context, cluster: string): KubeClient | undefined {
  if (cluster === 'tenant') return ctx.platform;
  if (cluster === 'mcp') return ctx.mcp.client;
  return cluster === 'workload' ? ctx.workload?.client : ctx.clusters[cluster]?.client;
}

async function bring(client: KubeClient, copy: DesiredCopy, source: Secret, owner: CopyOwner): Promise<void> {
  const target = await client.get<Secret>(SECRETS, copy.name, copy.namespace);
  const action = decideCopy(copy, source, target, owner);
  switch (action.do) {
    case 'nothing':
      return;
    case 'create':
      await createWithNamespace(client, SECRETS, action.object);
      return;
    case 'patch':
      await client.mergePatch(SECRETS, copy.name, action.patch, { namespace: copy.namespace });
      return;
    case 'replace':
      await client.delete(SECRETS, copy.name, { namespace: copy.namespace, uid: action.uid });
      await createWithNamespace(client, SECRETS, action.object);
      return;
    case 'refuse':
      throw new RuntimeError(
        'FOREIGN_OBJECT',
        `Secret ${copy.namespace}/${copy.name} on the ${copy.cluster} cluster exists and is no copy of ours; rename or remove it`,
      );
  }
}

async function removeCopy(run: Run, ctx: Context, copy: DesiredCopy): Promise<void> {
  const client = clusterNamed(ctx, copy.cluster);
  // A registration that was withdrawn took the access with it, and a cluster that is gone its Secrets.
  if (!client) return;
  const target = await client.get<Secret>(SECRETS, copy.name, copy.namespace);
  if (!target || !isOurCopy(target, ownerOf(run))) return;
  await client.delete(SECRETS, copy.name, { namespace: copy.namespace, uid: target.metadata.uid });
}
