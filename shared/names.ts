import { createHash } from 'node:crypto';

/**
 * Load-bearing names: other programs read them, and objects that exist already carry them. They are those of the Go
 * libraries `openmcp-operator/lib/clusteraccess/advanced` and `controller-utils/pkg/controller`, byte for byte.
 */
export const REQUEST_FINALIZER = 'clusters.openmcp.cloud/clusteraccess';
export const MANAGED_BY_LABEL = 'openmcp.cloud/managed-by';
export const MANAGED_PURPOSE_LABEL = 'openmcp.cloud/managed-purpose';
export const ONBOARDING_NAME_LABEL = 'openmcp.cloud/onboarding-name';
export const ONBOARDING_NAMESPACE_LABEL = 'openmcp.cloud/onboarding-namespace';
export const CLUSTER_LABEL = 'openmcp.cloud/cluster';
export const OPERATION_ANNOTATION = 'openmcp.cloud/operation';
export const OPERATION_IGNORE = 'ignore';
export const OPERATION_RECONCILE = 'reconcile';

/** kcp's: the logical cluster that an object lives in. */
export const LOGICAL_CLUSTER_ANNOTATION = 'kcp.io/cluster';

/** Ours: the full key of the Service API object that a request, namespace or Secret was made for. */
export const OBJECT_ANNOTATION = 'service-provider.open-control-plane.io/object';
/** Ours: on a request that another runtime made and that we took over. */
export const ADOPTED_ANNOTATION = 'service-provider.open-control-plane.io/adopted';
/**
 * Ours: on an object's first request, which registrations it was served with: a change of them leaves something behind.
 * A fingerprint, and the requests that labels alone would not find: `<namespace>/<name>`, with `*` for one of each kind.
 */
export const REGISTRATIONS_ANNOTATION = 'service-provider.open-control-plane.io/registrations';
/** Ours: on a request, which registrations were in force when somebody who registers it looked at it last. */
export const WANTED_UNDER_ANNOTATION = 'service-provider.open-control-plane.io/wanted-under';
/** Ours: on a ProviderConfig, the fingerprint of the registrations of who leads a mode, which is part of the name. */
export function registrationsInForceAnnotation(mode: 'standard' | 'kcp'): string {
  return `service-provider.open-control-plane.io/registrations-${mode}`;
}
/**
 * Ours, the marks of an object, which decide where it is in its life (`functions/step/marks.ts`): `<uid> <generation>` of
 * what the provider was last let install; the uid of the object whose provider has said that all is gone; what `delete`
 * needs of the object; since when the object is known to be gone (RFC 3339).
 */
export const INSTALLED_ANNOTATION = 'service-provider.open-control-plane.io/installed';
export const UNINSTALLED_ANNOTATION = 'service-provider.open-control-plane.io/uninstalled';
export const SNAPSHOT_ANNOTATION = 'service-provider.open-control-plane.io/snapshot';
export const GONE_SINCE_ANNOTATION = 'service-provider.open-control-plane.io/gone-since';
/** Ours: on everything that the runtime creates in a workspace, so that a tenant can accept claims by selector. */
export const RUNTIME_LABEL = 'service-provider.open-control-plane.io/provider';

/** Ours: on what the runtime creates in a workspace; only who knows the platform's side can tell a right one. */
export const MARK_ANNOTATION = 'service-provider.open-control-plane.io/mark';
/** Ours: on a workspace's tenant namespace on the platform cluster, what was made in the workspace, with its uid. */
export const MADE_ANNOTATION = 'service-provider.open-control-plane.io/made-in-workspace';

/** Ours: on the kubeconfig Secret of a workspace, a fingerprint of what the runtime has put into it. */
export const CONTENTS_ANNOTATION = 'service-provider.open-control-plane.io/contents';

/** Ours: on the same, the rights that it was made for: a deletion may not be able to compute them any more. */
export const ACCESS_ANNOTATION = 'service-provider.open-control-plane.io/access';

/** Ours: on an APIExport, which of its permission claims the runtime asked for. */
export const CLAIMS_ANNOTATION = 'service-provider.open-control-plane.io/claims';

/** Ours: on a ProviderConfig, the kcp settings by which objects are served now; `spec.kcp` may say others already. */
export const KCP_IN_FORCE_ANNOTATION = 'service-provider.open-control-plane.io/kcp-in-force';

/** Longest name and label value; `K8sMaxNameLength`. */
export const MAX_NAME_LENGTH = 63;

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

function shake128(text: string, bytes: number): Buffer {
  return createHash('shake128', { outputLength: bytes }).update(text).digest();
}

/** Eight characters; `NameHashSHAKE128Base32`. */
export function nameHash(...names: string[]): string {
  let bits = 0n;
  for (const byte of shake128(names.join('/'), 5)) bits = (bits << 8n) | BigInt(byte);
  let text = '';
  for (let shift = 35n; shift >= 0n; shift -= 5n) text += BASE32[Number((bits >> shift) & 31n)];
  return text;
}

/**
 * Names that are longer than `maxLength` bytes end in `--` and a hash of the whole; `ShortenToXCharacters`. Lengths are
 * counted in UTF-8 bytes, as Go does.
 * @throws RangeError where `maxLength` has no room for the hash
 */
export function shortenName(name: string, maxLength = MAX_NAME_LENGTH): string {
  const bytes = Buffer.from(name);
  if (bytes.length <= maxLength) return name;
  const suffix = `--${nameHash(name)}`;
  const trimmed = maxLength - suffix.length;
  if (trimmed <= 0) throw new RangeError(`maxLength ${maxLength} has no room for the hash`);
  return (
    bytes
      .subarray(0, trimmed)
      .toString()
      .replace(/[-.]+$/, '') + suffix
  );
}

/** A version 8 UUID of the names; `K8sNameUUID`. */
export function nameUuid(...names: string[]): string {
  if (names.every((name) => name === '')) throw new RangeError('at least one name must not be empty');
  const bytes = shake128(names.join('/'), 16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** The namespace of a ControlPlane on the platform cluster; `StableMCPNamespace`. */
export function mcpNamespace(name: string, namespace: string): string {
  return `mcp--${nameUuid(namespace, name)}`;
}

/** The tenant namespace of a kcp workspace and provider on the platform cluster. */
export function workspaceNamespace(provider: string, logicalCluster: string): string {
  return `${WORKSPACE_NAMESPACE_PREFIX}${nameUuid(provider, logicalCluster)}`;
}
export const WORKSPACE_NAMESPACE_PREFIX = 'kcp--';

/** A Lease in the provider's own namespace: an epoch of its queue was begun once. */
export function queueMarkName(provider: string): string {
  return `${provider}-queue`;
}

/** `<controller>--<object>--<suffix>`, lower case, at most 63 bytes; `StableRequestName`. */
export function requestName(controllerName: string, objectName: string, suffix: string): string {
  const raw = `${controllerName.toLowerCase()}--${objectName.toLowerCase()}`;
  if (suffix === '') return shortenName(raw);
  return `${shortenName(raw, MAX_NAME_LENGTH - suffix.length - 2)}--${suffix.toLowerCase()}`;
}

/** Labels that mean ownership of a request; `DefaultManagedLabelGenerator`. */
export function managedLabels(
  controllerName: string,
  object: { namespace: string; name: string },
  registrationId: string,
): Record<string, string> {
  const purpose = [object.namespace, object.name, registrationId].filter((part) => part !== '').join('.');
  return {
    [MANAGED_BY_LABEL]: shortenName(controllerName),
    [MANAGED_PURPOSE_LABEL]: shortenName(purpose.replace(/^[. ]+|[. ]+$/g, '')),
  };
}
