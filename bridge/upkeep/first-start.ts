import { ApiError, isAlreadyExists } from '../../shared/kube/api-error.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, LEASES, NAMESPACES } from '../../shared/kube/resources.ts';
import { MANAGED_BY_LABEL, queueMarkName, RUNTIME_LABEL, shortenName } from '../../shared/names.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import { MARK_RETRY_MS } from '../tuning.ts';
import { markAnswer } from './decide-epoch.ts';

/** What the platform cluster remembers of earlier lives of Redis. */
export interface FirstStart {
  /**
   * Leaves the mark, and says whether this is the first start of all: nobody had left it, and nothing of an object is there,
   * so nobody can hold one. It says so once, to one replica: whoever dies after this has left the mark.
   * @throws ApiError while the platform cluster gives no answer: then nobody can work on anything either
   */
  claim(): Promise<boolean>;
  /** Leaves the mark, unless it is known to be there. @throws as `claim` */
  leave(): Promise<void>;
}

export interface FirstStartOptions {
  provider: Pick<Provider, 'name' | 'controllerName'>;
  platform: Pick<KubeClient, 'create' | 'pages'>;
  /** The provider's own namespace, where the mark is: a Lease, since bridges may write those there. */
  namespace: string;
}

export function firstStartOn({ provider, platform, namespace }: FirstStartOptions): FirstStart {
  let marked = false;
  let nextTry = 0;
  const mark = async (): Promise<'made' | 'there' | 'impossible'> => {
    try {
      const metadata = { name: queueMarkName(provider.name), namespace };
      await platform.create(LEASES, { metadata });
      marked = true;
      return 'made';
    } catch (error) {
      const { status } = error instanceof ApiError ? error : { status: 0 };
      const answer = markAnswer(status, isAlreadyExists(error));
      if (answer === 'unknown') throw error;
      marked = answer === 'there';
      if (answer === 'impossible') nextTry = performance.now() + MARK_RETRY_MS;
      return answer;
    }
  };
  return {
    claim: async () => (await mark()) === 'made' && !(await somethingOf(provider, platform, namespace)),
    leave: async () => void (marked || performance.now() < nextTry || (await mark())),
  };
}

/** Whether objects were served before, by a version that left no mark, from another namespace, or by another runtime. */
async function somethingOf(
  { name, controllerName }: FirstStartOptions['provider'],
  platform: FirstStartOptions['platform'],
  own: string,
): Promise<boolean> {
  const managed = `${MANAGED_BY_LABEL}=${shortenName(controllerName)}`;
  for (const [type, labelSelector] of [
    [CLUSTER_REQUESTS, managed],
    [ACCESS_REQUESTS, managed],
    [NAMESPACES, `${RUNTIME_LABEL}=${name}`],
  ] as const)
    for await (const { items } of platform.pages(type, { labelSelector, metadataOnly: true }))
      // Access to the onboarding cluster is ordered in the provider's own namespace, and is nobody's object.
      if (items.some(({ metadata }) => metadata.namespace !== own)) return true;
  return false;
}
