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

const LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const SUBDOMAIN_PART = /^[a-z0-9](?:[-a-z0-9]{0,251}[a-z0-9])?$/;
const UID = /^[A-Za-z0-9](?:[-A-Za-z0-9]{0,126}[A-Za-z0-9])?$/;
const LONGEST_NAME = 253;

/** A part of a key that can't be, and why. */
export interface KeyProblem {
  readonly part: keyof ObjectKey;
  readonly problem: string;
}

/**
 * Pure: why there can be no such object; undefined where there can. Parts of a key become parts of addresses and of names:
 * nothing but what Kubernetes and kcp take for a name is one. Values are not repeated, since they may be anything.
 */
export function keyProblem(key: ObjectKey): KeyProblem | undefined {
  const { provider, mode, cluster, namespace, name, uid } = key;
  if (!LABEL.test(provider)) return { part: 'provider', problem: 'expected a DNS label' };
  if (mode !== 'standard' && mode !== 'kcp') return { part: 'mode', problem: 'expected standard or kcp' };
  if (mode === 'standard' && cluster !== ONBOARDING_CLUSTER)
    return { part: 'cluster', problem: `in standard mode objects are on the cluster ${ONBOARDING_CLUSTER} alone` };
  if (mode === 'kcp' && !LABEL.test(cluster))
    return { part: 'cluster', problem: "expected a logical cluster's name, such as 2hj3kx0gr3c4vlb3" };
  if (!LABEL.test(namespace)) return { part: 'namespace', problem: 'expected a DNS label' };
  // Each part between dots is a label; of names longer than that none is looked at.
  if (name.length > LONGEST_NAME || !name.split('.').every((part) => SUBDOMAIN_PART.test(part)))
    return { part: 'name', problem: `expected a DNS subdomain of at most ${LONGEST_NAME} characters` };
  if (!UID.test(uid)) return { part: 'uid', problem: "expected the object's metadata.uid" };
  return undefined;
}
