import { createHash } from 'node:crypto';
import type { Secret } from '../../shared/model/access.ts';
import { CONTENTS_ANNOTATION, OBJECT_ANNOTATION } from '../../shared/names.ts';
import { isDeleting } from '../../shared/status.ts';

const PREFIX = 'service-provider.open-control-plane.io/';
/** On the kubeconfig Secret: when its token ends, when to renew it, and what it was made for. RFC 3339 times. */
export const EXPIRES_AT_ANNOTATION = `${PREFIX}expires-at`;
export const RENEW_AT_ANNOTATION = `${PREFIX}renew-at`;
export const PERMISSIONS_ANNOTATION = `${PREFIX}permissions`;
/** On the same: the Secrets in the workspace with which its token, and the one before, would end. */
export const TOKENS_ANNOTATION = `${PREFIX}tokens`;

export type WorkspaceAccessDecision =
  | { readonly do: 'use'; readonly renewAt: Date }
  /** The token is good, but not for long: the next one has to be made. */
  | { readonly do: 'renew' }
  /** Nothing that can be used is there. */
  | { readonly do: 'bootstrap'; readonly why: string }
  | { readonly do: 'wait'; readonly message: string };

/**
 * What to do about the kubeconfig Secret of a workspace.
 * @param secret as it is on the platform cluster
 * @param wanted the object and permissions that it has to be for
 */
export function decideWorkspaceAccess(
  secret: Secret | undefined,
  wanted: { object: string; permissions: string },
  now: Date,
): WorkspaceAccessDecision {
  if (!secret) return { do: 'bootstrap', why: 'there is no kubeconfig yet' };
  if (isDeleting(secret)) return { do: 'wait', message: 'the kubeconfig Secret is being deleted' };
  const annotations = secret.metadata.annotations ?? {};
  if (annotations[OBJECT_ANNOTATION] !== wanted.object)
    return { do: 'bootstrap', why: 'the kubeconfig was made for another object' };
  if (annotations[PERMISSIONS_ANNOTATION] !== wanted.permissions)
    return { do: 'bootstrap', why: 'the permissions have changed' };
  const expiresAt = new Date(annotations[EXPIRES_AT_ANNOTATION] ?? 0);
  const renewAt = new Date(annotations[RENEW_AT_ANNOTATION] ?? 0);
  const contents = annotations[CONTENTS_ANNOTATION];
  // One that an earlier version made has no fingerprint.
  if (contents !== undefined && contents !== fingerprint(secret.data?.['kubeconfig'] ?? ''))
    return { do: 'bootstrap', why: 'somebody has edited the kubeconfig' };
  if (!secret.data?.['kubeconfig'] || !(now < expiresAt)) return { do: 'bootstrap', why: 'the token has expired' };
  if (!(now < renewAt)) return { do: 'renew' };
  return { do: 'use', renewAt };
}

/** The life that was granted to a token, by the clock of who made it; undefined where it tells none. */
export function grantedLifeMs(token: string): number | undefined {
  try {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
      iat?: unknown;
      exp?: unknown;
    };
    const seconds = Number(claims.exp) - Number(claims.iat);
    return seconds > 0 && Number.isFinite(seconds) ? seconds * 1_000 : undefined;
  } catch {
    return undefined;
  }
}

/** Of what is in the kubeconfig Secret, as it is stored there. */
export function fingerprint(kubeconfig: string): string {
  return createHash('sha256').update(kubeconfig).digest('base64url');
}

/** When a token is renewed: after the given part of its life. */
export function renewalTime(issuedAt: Date, expiresAt: Date, threshold: number): Date {
  return new Date(issuedAt.getTime() + (expiresAt.getTime() - issuedAt.getTime()) * threshold);
}
