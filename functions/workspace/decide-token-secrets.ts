import { SECRETS } from '../../shared/kube/resources.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import { isDeleting } from '../../shared/status.ts';
import { isMade, type Memory, type Removal } from './decide-objects.ts';
import { workspaceNames } from './objects.ts';

/** A Secret in the workspace, of which tokens are good for as long as it exists. */
export interface TokenSecret {
  readonly name: string;
  readonly uid: string;
}

/** Of a workspace's tokens: the one handed out, and the one before, with which copies may still work. */
export function formatTokenSecrets(secrets: readonly TokenSecret[]): string {
  return secrets.map(({ name, uid }) => `${name}:${uid}`).join(',');
}

/** The inverse of {@link formatTokenSecrets}; none where it was written by an earlier version, or damaged. */
export function parseTokenSecrets(written: string | undefined): TokenSecret[] {
  return (written ?? '').split(',').flatMap((each) => {
    const [name, uid] = each.split(':');
    return name && uid ? [{ name, uid }] : [];
  });
}

export interface TokenSecretsPlan {
  /** One that an earlier pass has made and not used up. */
  readonly bootstrap: KubeObject | undefined;
  /** One to which no token is bound that was handed out. */
  readonly unused: KubeObject | undefined;
  readonly remove: readonly Removal[];
}

/**
 * What becomes of our Secrets in the workspace.
 * @param seen those in our namespace with our label
 * @param inUse those of the tokens that are handed out
 * @param minting whether a token is made now, for which what is left may serve
 * @param bootstrapLifeMs one that is older has had its time
 */
export function planTokenSecrets(
  provider: string,
  seen: readonly KubeObject[],
  memory: Memory,
  inUse: readonly TokenSecret[],
  { minting, now, bootstrapLifeMs }: { minting: boolean; now: Date; bootstrapLifeMs: number },
): TokenSecretsPlan {
  const names = workspaceNames(provider);
  const ours = seen.filter((object) => !isDeleting(object) && isMade(memory, SECRETS, object));
  const used = new Set(inUse.map(({ uid }) => uid));
  const free = ours.filter(({ metadata }) => !used.has(metadata.uid ?? ''));
  const young = ({ metadata }: KubeObject): boolean =>
    now.getTime() - Date.parse(metadata.creationTimestamp ?? '') < bootstrapLifeMs;
  const find = (prefix: string, usable: (object: KubeObject) => boolean) =>
    minting ? free.find((object) => object.metadata.name.startsWith(prefix) && usable(object)) : undefined;
  const bootstrap = find(names.bootstrapSecret(''), young);
  const unused = find(names.tokenSecret(''), () => true);
  const remove = free
    .filter((object) => object !== bootstrap && object !== unused)
    .map(({ metadata: { name, namespace, uid = '' } }) => ({ type: SECRETS, name, namespace, uid }));
  return { bootstrap, unused, remove };
}
