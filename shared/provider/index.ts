/** The one door for authors of providers: all that they import comes from here, as `service-provider-runtime`. */
export { isRuntimeError, PermanentError, RuntimeError } from '../errors.ts';
export { ApiError, isAlreadyExists, isConflict, isForbidden, isInvalid, isNotFound } from '../kube/api-error.ts';
export type { ApplyOptions, DeleteOptions, KubeClient, ListOptions, PatchOptions } from '../kube/ports.ts';
export {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  CONFIG_MAPS,
  CRDS,
  NAMESPACES,
  ROLE_BINDINGS,
  ROLES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from '../kube/resources.ts';
export type {
  AccessSpec,
  ObjectReference,
  OidcSpec,
  PermissionClaim,
  PermissionsRequest,
  PolicyRule,
  RoleRef,
  Secret,
} from '../model/access.ts';
export type { Duration } from '../model/duration.ts';
export type { Condition, KubeList, KubeObject, KubeObjectOf, ObjectMeta, ResourceType } from '../model/kubernetes.ts';
export type { Mode } from '../model/object-key.ts';
export { mcpNamespace, nameHash, nameUuid, requestName, shortenName } from '../names.ts';
export type {
  CallResult,
  Cluster,
  CommonContext,
  DeleteContext,
  InitContext,
  ManagedResource,
  ProviderContext,
  ServiceObjectOf,
  StatusReporter,
} from './context.ts';
export {
  defineProvider,
  type KcpProviderOptions,
  type ProviderOptions,
  type StandardProviderOptions,
} from './define.ts';
export { blockDeletion, type BlockDeletionOptions } from './block-deletion.ts';
export { applyOwned, removeOwned } from './owned.ts';
export type { AccessOptions, ConfiguredProvider, OnboardingRights, Provider } from './provider.ts';
export { providerConfig, type ProviderConfigOptions } from './provider-config.ts';
export type { CopyFor, CopyTarget, ReferencedSecret } from './references.ts';
export {
  type ClusterOrder,
  type Computed,
  type DeclaredAccess,
  existingCluster,
  existingRequest,
  type ManagedLabels,
  newCluster,
  type Registration,
  type RequestNamespace,
  requestNamespaces,
  sameAsObject,
} from './registration.ts';
export { serviceApi } from './service-api.ts';
