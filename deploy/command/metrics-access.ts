import { createHash } from 'node:crypto';
import { bearerOf } from '../../functions/host/bearer.ts';
import { RuntimeError } from '../../shared/errors.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { MAX_REVIEWS, MAX_REVIEWS_AT_ONCE, REVIEW_LIFE_MS, REVIEW_REFUSAL_LIFE_MS } from './tuning.ts';

interface TokenReview {
  status?: {
    authenticated?: boolean;
    user?: { username?: string; uid?: string; groups?: string[]; extra?: Record<string, string[]> };
  };
}

/** 200, or why not; in the order in which a caller can mend it. */
export type AccessAnswer = 200 | 401 | 403;

/** What somebody wants to do: the path and verb of a `nonResourceURL`. */
export interface Wanted {
  readonly path: string;
  readonly verb: string;
}

export const READ_METRICS: Wanted = { path: '/metrics', verb: 'get' };

/**
 * Whether a bearer may do something, as the platform cluster says: who it is (TokenReview), and what that user may do
 * (SubjectAccessReview). A ClusterRole with `nonResourceURLs: ["/metrics"], verbs: ["get"]` lets read metrics. An answer
 * counts for a minute, a refusal for some seconds; of tokens no more than a hash is remembered.
 */
export class AccessReviews {
  readonly #platform: KubeClient;
  readonly #now: () => number;
  readonly #known = new Map<string, { readonly answer: AccessAnswer; readonly until: number }>();
  readonly #asked = new Map<string, Promise<AccessAnswer>>();

  constructor(platform: KubeClient, now: () => number = Date.now) {
    this.#platform = platform;
    this.#now = now;
  }

  /** Rejects where that can't be told, also since too many others are asked about at once. */
  async may(authorization: string | undefined, wanted: Wanted): Promise<AccessAnswer> {
    const token = bearerOf(authorization);
    if (!token) return 401;
    const id = createHash('sha256')
      .update(JSON.stringify([token, wanted.path, wanted.verb]))
      .digest('base64');
    const known = this.#known.get(id);
    if (known && this.#now() < known.until) return known.answer;
    const asked = this.#asked.get(id);
    if (asked) return asked;
    // Whoever reaches the address may come with any number of tokens.
    if (this.#asked.size >= MAX_REVIEWS_AT_ONCE)
      throw new RuntimeError('NOT_READY', 'too many are asked about at once');
    const asking = review(this.#platform, token, wanted).finally(() => this.#asked.delete(id));
    this.#asked.set(id, asking);
    const answer = await asking;
    this.#remember(id, answer);
    return answer;
  }

  #remember(id: string, answer: AccessAnswer): void {
    this.#known.delete(id);
    this.#known.set(id, { answer, until: this.#now() + (answer === 200 ? REVIEW_LIFE_MS : REVIEW_REFUSAL_LIFE_MS) });
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_REVIEWS && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** Who may read why a process isn't ready: whoever may read its metrics. Nobody, where no cluster can say who that is. */
export function detailsFor(reviews: AccessReviews | undefined): (authorization: string) => Promise<boolean> {
  return async (authorization) => (await reviews?.may(authorization, READ_METRICS)) === 200;
}

async function review(platform: KubeClient, token: string, { path, verb }: Wanted): Promise<AccessAnswer> {
  const { status } = await platform.post<TokenReview>('/apis/authentication.k8s.io/v1/tokenreviews', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token },
  });
  if (!status?.authenticated || !status.user) return 401;
  const { username, uid, groups, extra } = status.user;
  const answer = await platform.post<{ status?: { allowed?: boolean } }>(
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: username, uid, groups, extra, nonResourceAttributes: { path, verb } },
    },
  );
  return answer.status?.allowed ? 200 : 403;
}
