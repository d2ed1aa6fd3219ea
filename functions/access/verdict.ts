/** Where a kubeconfig lies on the platform cluster. */
export interface SecretReference {
  readonly name: string;
  readonly namespace: string;
  readonly key: string;
}

/** What is known about the access to one cluster. */
export type Verdict =
  | { readonly state: 'granted'; readonly secret: SecretReference; readonly renewAt?: Date }
  | {
      readonly state: 'waiting';
      readonly reason: string;
      readonly message: string;
      readonly retryAfterMs?: number;
      readonly nothingCreated?: true;
    }
  /** Somebody decided against it, or holds the name: nothing to do but say so and look again now and then. */
  | { readonly state: 'refused'; readonly reason: string; readonly message: string }
  /** A request of ours is on its way out, and nobody of us removed it. */
  | { readonly state: 'terminating'; readonly message: string }
  /** For an object that is being deleted: its workspace goes too, and access to it can't be had any more. */
  | { readonly state: 'gone'; readonly message: string };

/** Access to all clusters that an object needs. `workload` is undefined where none is ordered. */
export interface AccessVerdicts {
  readonly mcp: Verdict;
  readonly workload: Verdict | undefined;
}

export interface GrantedAccess {
  /** `gone`: there is nothing left to have access to, and nothing to remove there. */
  readonly mcp: SecretReference | 'gone';
  readonly workload: SecretReference | undefined;
  /** When the access has to be renewed; undefined: never. */
  readonly renewAt: Date | undefined;
}

/** The granted access, if all of it is. */
export function grantedAccess({ mcp, workload }: AccessVerdicts): GrantedAccess | undefined {
  if (mcp.state !== 'granted' && mcp.state !== 'gone') return undefined;
  if (workload !== undefined && workload.state !== 'granted') return undefined;
  if (mcp.state === 'gone') return { mcp: 'gone', workload: workload?.secret, renewAt: undefined };
  return { mcp: mcp.secret, workload: workload?.secret, renewAt: mcp.renewAt };
}

type OpenVerdict = Exclude<Verdict, { state: 'granted' } | { state: 'gone' }>;

/** The one to show of several that are not granted: a refusal before something that will pass. */
export function worst({ mcp, workload }: AccessVerdicts): OpenVerdict | undefined {
  const open = [mcp, workload].filter(
    (verdict): verdict is OpenVerdict =>
      verdict !== undefined && verdict.state !== 'granted' && verdict.state !== 'gone',
  );
  return (
    open.find((verdict) => verdict.state === 'refused') ??
    open.find((verdict) => verdict.state === 'waiting') ??
    open[0]
  );
}
