import type { PermissionClaim } from '../model/access.ts';
import type { ApiBinding } from './bindings.ts';
import { claimName } from './claims.ts';

/**
 * Which of the wanted claims the tenant has not accepted. The binding's conditions don't tell: they are all True. One
 * that the export does not ask for yet is not the tenant's matter. Verbs count literally, as they do for kcp.
 * @returns names such as `secrets` or `roles.rbac.authorization.k8s.io`, in the order of `wanted`
 */
export function missingClaims(status: ApiBinding['status'], wanted: readonly PermissionClaim[]): string[] {
  const asked = new Map((status?.exportPermissionClaims ?? []).map((claim) => [claimName(claim), claim]));
  const applied = new Map((status?.appliedPermissionClaims ?? []).map((claim) => [claimName(claim), claim]));
  const missing = wanted.filter((claim) => {
    const offered = asked.get(claimName(claim));
    if (!offered) return false;
    const verbs = applied.get(claimName(claim)) ? (applied.get(claimName(claim))?.verbs ?? claim.verbs) : [];
    return claim.verbs.some((verb) => !verbs.includes(verb) && (offered.verbs ?? claim.verbs).includes(verb));
  });
  return [...new Set(missing.map(claimName))];
}

/** Which of the wanted claims the export does not ask for (any more), as the binding sees it: not the tenant's matter. */
export function unaskedClaims(status: ApiBinding['status'], wanted: readonly PermissionClaim[]): string[] {
  if (!status?.exportPermissionClaims) return [];
  const asked = new Set(status.exportPermissionClaims.map(claimName));
  return [...new Set(wanted.map(claimName))].filter((name) => !asked.has(name));
}
