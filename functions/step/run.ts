import type { Logger } from 'pino';
import type { Internal } from '../../shared/conceal.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import type { ObjectKey } from '../../shared/model/object-key.ts';
import type { Outcome } from '../../shared/events/outcome.ts';
import type { StatusReport } from '../../shared/status.ts';
import type { WorkspacePort } from '../../shared/kcp/workspace-port.ts';
import type { ClientCache } from '../../shared/kube/client-cache.ts';
import type { MarksPort } from './marks.ts';
import type { ConfigState } from './config-state.ts';
import type { TenantView } from './decide-tenant-view.ts';
import type { Provider } from '../../shared/provider/provider.ts';

/** {@link Internal} while it is being learnt. */
export interface KnownInternals extends Internal {
  readonly servers: Map<string, string>;
}

/** One invocation: whose turn it is, and all that a function may use. Clients in it refuse a stale holder's requests. */
export interface Run {
  readonly key: ObjectKey;
  readonly provider: Provider;
  readonly platform: HttpKubeClient;
  /** Where the object lives. */
  readonly home: HttpKubeClient;
  /** In kcp mode: what the runtime may do in the object's workspace. */
  readonly workspace: WorkspacePort | undefined;
  /** What the platform cluster remembers of the object. */
  readonly marks: MarksPort;
  /** The object is gone, and what is left of it is being removed: there is nobody to tell. */
  readonly gone?: true;
  readonly config: ConfigState;
  /** The registrations in force for the mode, as the ProviderConfig says; undefined where it does not. */
  readonly inForce: string | undefined;
  readonly providerNamespace: string;
  /** For debugging: addresses in annotations of AccessRequests replace those in kubeconfigs. */
  readonly localAccess: boolean;
  readonly tenantNamespace: string;
  readonly clients: ClientCache;
  /** Fires when the provider's call should end. Its reason is a `StopReason`. */
  readonly signal: AbortSignal;
  /** Throws when the lease is lost or over. */
  readonly guard: () => void;
  /** Fires when the lease is lost or over. */
  readonly lost: AbortSignal;
  /** Credentials that this invocation has seen, for redaction. */
  readonly secrets: Set<string>;
  /** Addresses and namespaces that no tenant may read of; grows with the clusters that are opened. */
  readonly internal: KnownInternals;
  readonly log: Logger;
  readonly now: () => Date;
}

export interface StepResult {
  /** Written before the outcome counts; nothing is written where it does not differ. */
  status?: StatusReport;
  outcome: Outcome;
  /** The object as last written by the step, where it wrote; saves reading it again for the status. */
  object?: ServiceObject;
}

/** What one of the four functions does with an object that exists and is not to be ignored. */
export type Step = (object: ServiceObject, run: Run) => Promise<StepResult>;

/** What of an invocation must not be read by tenants. */
export function tenantView({ key, internal, secrets }: Run): TenantView {
  return { uid: key.uid, internal, secrets };
}
