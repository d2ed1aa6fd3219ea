import type { Mode } from '../model/object-key.ts';
import type { ServiceObjectOf } from './context.ts';

/** Where a copy of a Secret is kept for an object. */
export type CopyTarget =
  /** The tenant's namespace on the platform cluster; default name `sp-<provider>-<name>`, since others copy there too. */
  | { cluster: 'tenant'; name?: string }
  /**
   * The end user cluster, the workload cluster or one of `access.clusters`. The namespace is created where it is missing.
   * Needs rights there: `get`, `create`, `patch` and `delete` of secrets, and `create` and `patch` of namespaces unless
   * the namespace exists. Default name: that of the Secret.
   */
  | { cluster: 'mcp' | 'workload' | (string & {}); namespace: string; name?: string };

/** For whom a copy is made. */
export interface CopyFor {
  /** As `ctx.identity`. */
  readonly identity: string;
  readonly tenantNamespace: string;
  readonly mode: Mode;
}

/** A Secret in the provider's own namespace; as a plain name it is watched, and not copied. */
export interface ReferencedSecret<Spec> {
  name: string;
  copyTo?: readonly CopyTarget[] | ((object: ServiceObjectOf<Spec>, to: CopyFor) => readonly CopyTarget[]);
}
