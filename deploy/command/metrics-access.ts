import { bearerOf } from '../../functions/host/bearer.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';

interface TokenReview {
  status?: {
    authenticated?: boolean;
    user?: { username?: string; uid?: string; groups?: string[]; extra?: Record<string, string[]> };
  };
}

/** 200, or why not; in the order in which a caller can mend it. */
export type AccessAnswer = 200 | 401 | 403;

/**
 * Whether the bearer may do that, as the platform cluster says: who it is (TokenReview), and what that user may do
 * (SubjectAccessReview). A ClusterRole with `nonResourceURLs: ["/metrics"], verbs: ["get"]` lets read metrics.
 */
export async function mayAccess(
  platform: KubeClient,
  authorization: string | undefined,
  { path, verb }: { path: string; verb: string },
): Promise<AccessAnswer> {
  const token = bearerOf(authorization);
  if (!token) return 401;
  const { status } = await platform.post<TokenReview>('/apis/authentication.k8s.io/v1/tokenreviews', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token },
  });
  if (!status?.authenticated || !status.user) return 401;
  const { username, uid, groups, extra } = status.user;
  const review = await platform.post<{ status?: { allowed?: boolean } }>(
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: username, uid, groups, extra, nonResourceAttributes: { path, verb } },
    },
  );
  return review.status?.allowed ? 200 : 403;
}
