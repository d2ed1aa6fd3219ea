/** The few Kubernetes shapes that the runtime handles without a schema of its own. */

export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: { apiVersion: string; kind: string; name: string; uid: string; controller?: boolean }[];
}

export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
}

/** Any object whose further fields the caller knows. */
export type KubeObjectOf<Fields> = KubeObject & Fields;

export interface KubeList<T extends KubeObject> {
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
  items: T[];
}

/** `metav1.Condition`. */
export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  observedGeneration?: number;
  lastTransitionTime: string;
}

/** Reads and writes of one kind of resource are addressed by this. */
export interface ResourceType {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** `group/version`, or `version` for the core group. */
export function apiVersionOf(type: ResourceType): string {
  return type.group === '' ? type.version : `${type.group}/${type.version}`;
}

export interface ServiceObjectStatus {
  phase?: string;
  observedGeneration?: number;
  conditions?: Condition[];
  [field: string]: unknown;
}

/** A Service API object as the runtime sees it, whatever its kind. */
export interface ServiceObject extends KubeObject {
  spec?: Record<string, unknown>;
  status?: ServiceObjectStatus;
}
