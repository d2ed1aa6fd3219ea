import type { AccessRequest, ClusterRequest } from '../../shared/model/access.ts';
import { type ObjectKey, parseObjectKey } from '../../shared/model/object-key.ts';
import { OBJECT_ANNOTATION } from '../../shared/names.ts';
import type { Identified } from '../watch/seen.ts';

export type Request = ClusterRequest | AccessRequest;

/** Control planes and tenants have their namespaces here; see `mcpNamespace`. */
const MCP_NAMESPACE_PREFIX = 'mcp--';

/** Pure: all that is kept of a ClusterRequest or AccessRequest: what an object may be waiting for. */
export interface SeenRequest extends Identified {
  /** The namespace. */
  readonly group: string;
  /** The name. */
  readonly id: string;
  readonly uid: string;
  /** The formatted key of the object that it was made for; `undefined` for a control plane's own ClusterRequest. */
  readonly owner: string | undefined;
  readonly phase: string;
  /** Granted, and for the present spec. */
  readonly granted: boolean;
  readonly secret: string | undefined;
  readonly deleting: boolean;
  /** Only while it is being deleted. */
  readonly finalizers: string;
}

/** @returns `undefined` for a request that can't concern an object of this provider */
export function seenRequest(provider: string, request: Request): SeenRequest | undefined {
  const { metadata, status } = request;
  const owner = metadata.annotations?.[OBJECT_ANNOTATION];
  if (!metadata.uid || !metadata.namespace || !concerns(provider, owner, request)) return undefined;
  // Nobody has answered yet, whether the operator has said so or not.
  const phase = status?.phase || 'Pending';
  const deleting = metadata.deletionTimestamp !== undefined;
  return {
    group: metadata.namespace,
    id: metadata.name,
    uid: metadata.uid,
    owner,
    phase,
    granted: phase === 'Granted' && status?.observedGeneration === metadata.generation,
    secret: status && 'secretRef' in status ? status.secretRef?.name : undefined,
    deleting,
    finalizers: deleting ? (metadata.finalizers ?? []).join(',') : '',
  };
}

/** The object that a request or Secret of ours was made for. */
export function ownerOf(request: { readonly owner?: string | undefined }): ObjectKey | undefined {
  return request.owner === undefined ? undefined : parseObjectKey(request.owner);
}

function concerns(provider: string, owner: string | undefined, request: Request): boolean {
  if (owner !== undefined) return parseObjectKey(owner)?.provider === provider;
  // A control plane's own ClusterRequest carries nothing of ours, and is found by its name.
  return 'purpose' in request.spec && (request.metadata.namespace ?? '').startsWith(MCP_NAMESPACE_PREFIX);
}
