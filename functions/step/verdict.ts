import type { Marks } from './marks.ts';

/** Where a kubeconfig lies on the platform cluster. */
export interface SecretReference {
  readonly name: string;
  readonly namespace: string;
  readonly key: string;
  /** The kubeconfig is for people, who log in by it; the runtime can't use it. */
  readonly forPeople?: true;
}

/** What is known about the access to one cluster. */
export type Verdict =
  | {
      readonly state: 'granted';
      readonly secret: SecretReference;
      readonly renewAt?: Date;
      /** On what holds the object's marks. */
      readonly marks?: Marks;
      /** The object was served with other registrations before, as far as is known. */
      readonly otherRegistrations?: true;
    }
  /** The cluster is there, and no access to it was asked for. */
  | { readonly state: 'ordered' }
  | {
      readonly state: 'waiting';
      readonly reason: string;
      readonly message: string;
      readonly retryAfterMs?: number;
      readonly nothingCreated?: true;
    }
  /** Somebody decided against it, or holds the name: nothing to do but say so and look again now and then. */
  | { readonly state: 'refused'; readonly reason: string; readonly message: string }
  /** A request that is on its way out, and that was another runtime's. */
  | { readonly state: 'terminating'; readonly message: string }
  /** For an object that is being deleted: the cluster went before it, and access to it can't be had any more. */
  | { readonly state: 'gone'; readonly message: string };

type Open = Exclude<Verdict, { state: 'granted' | 'ordered' | 'gone' }>;

/** Access to all clusters that an object needs. `workload` is undefined where none is ordered. */
export interface AccessVerdicts {
  readonly mcp: Verdict;
  readonly workload: Verdict | undefined;
  /** By the id of its registration. */
  readonly clusters?: Readonly<Record<string, Verdict>>;
}

/** `gone`: there is nothing left to have access to, and nothing to remove there. */
export type AccessTo = SecretReference | 'gone';

export interface GrantedAccess {
  readonly mcp: AccessTo;
  readonly workload: AccessTo | undefined;
  readonly clusters?: Readonly<Record<string, AccessTo>>;
  /** When the access has to be renewed; undefined: never. */
  readonly renewAt: Date | undefined;
  /** Where looking at the access has shown them. */
  readonly marks: Marks | undefined;
}

/** The granted access, if all of it is. */
export function grantedAccess(access: AccessVerdicts): GrantedAccess | undefined {
  const { mcp, workload, clusters } = access;
  if (open(access).length > 0 || (mcp.state !== 'granted' && mcp.state !== 'gone')) return undefined;
  return {
    mcp: accessTo(mcp) ?? 'gone',
    workload: workload && accessTo(workload),
    ...(clusters ? { clusters: accessesTo(clusters) } : {}),
    renewAt: mcp.state === 'gone' ? undefined : mcp.renewAt,
    marks: mcp.state === 'gone' ? undefined : mcp.marks,
  };
}

function accessTo(verdict: Verdict): AccessTo | undefined {
  if (verdict.state === 'granted') return verdict.secret;
  return verdict.state === 'gone' ? 'gone' : undefined;
}

function accessesTo(clusters: Readonly<Record<string, Verdict>>): Record<string, AccessTo> {
  const granted = Object.entries(clusters).flatMap(([id, verdict]) => {
    const access = accessTo(verdict);
    return access ? [[id, access] as const] : [];
  });
  return Object.fromEntries(granted);
}

/** The one to show of several that are not granted: a refusal before something that will pass. */
export function worst(access: AccessVerdicts): Open | undefined {
  const all = open(access);
  return (
    all.find((verdict) => verdict.state === 'refused') ?? all.find((verdict) => verdict.state === 'waiting') ?? all[0]
  );
}

/** Whether something may be left of registrations that were withdrawn since the object was looked at last. */
export function mayHaveStrays({ mcp, workload }: AccessVerdicts): boolean {
  return [mcp, workload].some((verdict) => verdict?.state === 'granted' && verdict.otherRegistrations);
}

/** Whether another runtime had begun to remove access when it was stopped. */
export function someTerminating(access: AccessVerdicts): boolean {
  return open(access).some((verdict) => verdict.state === 'terminating');
}

const SETTLED: ReadonlySet<Verdict['state']> = new Set(['granted', 'ordered', 'gone']);

function open({ mcp, workload, clusters }: AccessVerdicts): Open[] {
  return [mcp, workload, ...Object.values(clusters ?? {})].filter(
    (verdict): verdict is Open => verdict !== undefined && !SETTLED.has(verdict.state),
  );
}
