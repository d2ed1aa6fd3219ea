import type { Manifest } from './manifests.ts';

/** What NetworkPolicies leave open, as a network that enforces them reads them. */

type Labels = Readonly<Record<string, string>>;

interface Selector {
  matchLabels?: Labels;
  matchExpressions?: { key: string; operator: 'In' | 'NotIn'; values: string[] }[];
}

interface Rule {
  from?: { namespaceSelector?: Selector; podSelector?: Selector }[];
  to?: Rule['from'];
  ports?: { port: number; protocol?: string }[];
}

interface PolicySpec {
  podSelector: Selector;
  policyTypes: ('Ingress' | 'Egress')[];
  ingress?: Rule[];
  egress?: Rule[];
}

type PodOwner = Manifest & { spec: { template?: { metadata: { labels: Labels } } } };

export interface Reach {
  /** `<port> <peer>`; the peer is `anywhere` where the policy names none. */
  readonly ingress: string[];
  readonly egress: string[];
}

/** For each kind of pod among the manifests, by its name: who reaches it, and what it reaches. */
export function reachOf(manifests: readonly Manifest[]): Record<string, Reach> {
  const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy').map((each) => each['spec'] as PolicySpec);
  const owners = (manifests as PodOwner[]).filter(({ kind, spec }) => kind !== 'NetworkPolicy' && spec?.template);
  return Object.fromEntries(
    owners.map(({ metadata, spec }) => {
      const labels = spec.template?.metadata.labels ?? {};
      const selecting = policies.filter(({ podSelector }) => selects(podSelector, labels));
      const open = (type: 'Ingress' | 'Egress'): string[] => {
        const about = selecting.filter(({ policyTypes }) => policyTypes.includes(type));
        // A pod that no policy is about is open to all.
        if (about.length === 0) return ['everything'];
        return about.flatMap((policy) => (type === 'Ingress' ? policy.ingress : policy.egress) ?? []).flatMap(linesOf);
      };
      return [metadata.name, { ingress: open('Ingress').toSorted(), egress: open('Egress').toSorted() }];
    }),
  );
}

function linesOf({ from, to, ports }: Rule): string[] {
  const peers = (from ?? to)?.map(({ namespaceSelector, podSelector }) => {
    return Object.entries({ ...namespaceSelector?.matchLabels, ...podSelector?.matchLabels })
      .map(([name, value]) => `${name.split('/').at(-1)}=${value}`)
      .join(',');
  }) ?? ['anywhere'];
  const named = ports?.map(({ port, protocol }) => `${port}${protocol === 'UDP' ? '/UDP' : ''}`) ?? ['any port'];
  return peers.flatMap((peer) => named.map((port) => `${port} ${peer}`));
}

function selects({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([name, value]) => labels[name] === value) &&
    matchExpressions.every(({ key, operator, values }) => values.includes(labels[key] ?? '') === (operator === 'In'))
  );
}
