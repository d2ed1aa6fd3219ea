/** The two ways in which a tenant orders a service: on the onboarding cluster, or in a kcp workspace. */
export type Mode = 'standard' | 'kcp';

/** The name that the onboarding cluster has in keys and event sources. */
export const ONBOARDING_CLUSTER = 'onboarding';

/**
 * Identity of one Service API object. Two objects are the same exactly when all six fields are equal: the same name in
 * two workspaces is two objects, and an object that was deleted and created again is another one (its uid differs).
 */
export interface ObjectKey {
  /** Name of the provider, which is also the name of its ProviderConfig. */
  readonly provider: string;
  readonly mode: Mode;
  /** `onboarding` in standard mode, the logical cluster's name in kcp mode. */
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

const SEPARATOR = '|';

/** One line of text for an {@link ObjectKey}; {@link parseObjectKey} is its inverse. No field may hold a `|`. */
export function formatObjectKey(key: ObjectKey): string {
  return [key.provider, key.mode, key.cluster, key.namespace, key.name, key.uid].join(SEPARATOR);
}

/** Reads what {@link formatObjectKey} wrote; `undefined` for any other text. */
export function parseObjectKey(text: string): ObjectKey | undefined {
  const [provider, mode, cluster, namespace, name, uid, ...rest] = text.split(SEPARATOR);
  if (rest.length > 0 || !provider || !cluster || namespace === undefined || !name || !uid) return undefined;
  if (mode !== 'standard' && mode !== 'kcp') return undefined;
  return { provider, mode, cluster, namespace, name, uid };
}

/** Who has it: a project of the onboarding cluster, or a kcp workspace. */
export function tenantOf({ mode, cluster, namespace }: ObjectKey): string {
  return mode === 'kcp' ? `kcp/${cluster}` : `standard/${namespace}`;
}

/** How people see an object in logs and messages: `standard/onboarding/project-a/foo`. */
export function displayKey(key: ObjectKey): string {
  return `${key.mode}/${key.cluster}/${key.namespace}/${key.name}`;
}
