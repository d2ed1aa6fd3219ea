import { z } from 'zod';

/** Pure: the document of a kubeconfig, whoever wrote it, and which of its entries count. */

const entries = <Shape extends z.ZodRawShape>(field: string, shape: Shape) =>
  z
    .array(z.looseObject({ name: z.string(), [field]: z.looseObject(shape) }))
    .nullish()
    .transform((list) => list ?? []);
const context = {
  cluster: z.string({ error: 'missing; name the cluster' }).min(1, 'empty; name the cluster'),
  user: z.string({ error: 'missing; name the user' }).min(1, 'empty; name the user'),
};

const KUBECONFIG = z.looseObject({
  'current-context': z.string({ error: 'missing; name the context to use' }).min(1, 'empty; name the context to use'),
  contexts: entries('context', context),
  clusters: entries('cluster', { server: z.url({ protocol: /^https?$/ }).max(2_048) }),
  users: entries('user', {}),
});
type Parsed = z.output<typeof KUBECONFIG>;
type List = Parsed['contexts' | 'clusters' | 'users'];

/** Fields of one cluster or user. */
export type Entry = Readonly<Record<string, unknown>>;

export interface CurrentEntries {
  readonly clusterName: string;
  readonly cluster: Entry & { readonly server: string };
  readonly userName: string;
  readonly user: Entry;
}

/**
 * What the current context names. Everything is found by its name alone, never by where it stands: one entry's user would
 * be sent to another's server.
 * @param texts fields that have to be texts where they are there at all
 * @param fail throws; it is told the field and what is wrong with it, never a credential
 */
export function currentEntries(
  raw: unknown,
  texts: { readonly cluster: readonly string[]; readonly user: readonly string[] },
  fail: (problem: string) => never,
): CurrentEntries {
  const parsed = KUBECONFIG.safeParse(raw);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return fail(`${issue?.path.join('.') || 'document'}: ${issue?.message ?? 'invalid'}`);
  }
  const { 'current-context': current, contexts, clusters, users } = parsed.data;
  const found = (list: List, field: string, name: string, where: string, what: string): Entry => {
    const named = list.filter((entry) => entry.name === name);
    if (named.length > 1) return fail(`${field}s: several are named ${name}; keep one`);
    return (named[0]?.[field] as Entry | undefined) ?? fail(`${where}: there is no ${what}${name}`);
  };
  const chosen = found(contexts, 'context', current, 'current-context', 'context ');
  const { cluster: clusterName, user: userName } = chosen as { cluster: string; user: string };
  const cluster = found(clusters, 'cluster', clusterName, `contexts.${current}.cluster`, '');
  const user = found(users, 'user', userName, `contexts.${current}.user`, '');
  const wrong = (entry: Entry, fields: readonly string[]): string | undefined =>
    fields.find((field) => entry[field] !== undefined && typeof entry[field] !== 'string');
  const [ofCluster, ofUser] = [wrong(cluster, texts.cluster), wrong(user, texts.user)];
  if (ofCluster !== undefined) return fail(`clusters.${clusterName}.${ofCluster}: expected a text`);
  if (ofUser !== undefined) return fail(`users.${userName}.${ofUser}: expected a text`);
  return { clusterName, cluster: cluster as CurrentEntries['cluster'], userName, user };
}

/** Whether an address says that what is sent there can be read on the way. */
export function isClearText(server: string): boolean {
  return new URL(server).protocol !== 'https:';
}
