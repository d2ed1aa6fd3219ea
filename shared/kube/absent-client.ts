import type { KubeList, KubeObject, ResourceType } from '../model/kubernetes.ts';
import { ApiError } from './api-error.ts';
import type { KubeClient } from './ports.ts';

/** A name that leads nowhere (RFC 2606), for a cluster that is gone. */
export const NOWHERE = 'https://gone.invalid';

/**
 * A cluster that is gone: nothing is there, and nothing can be made there. Reading and deleting answer as for what does not
 * exist; everything that would make or change something rejects with an `ApiError` 404, where a patch names its object.
 * @param what the cluster, for the message
 */
export function absentClient(what: string): KubeClient {
  const refuse = (doing: string, name?: string): Promise<never> =>
    Promise.reject(
      new ApiError(`${doing} ${what}`, 404, {
        reason: 'NotFound',
        message: `${what} is gone: nothing can be made there`,
        ...(name === undefined ? {} : { details: { name } }),
      }),
    );
  const nothing = <T extends KubeObject>(): KubeList<T> => ({ items: [], metadata: {} });
  return {
    server: NOWHERE,
    get: () => Promise.resolve(undefined),
    list: <T extends KubeObject>() => Promise.resolve(nothing<T>()),
    async *pages<T extends KubeObject>() {
      yield await Promise.resolve(nothing<T>());
    },
    async *watch() {},
    delete: () => Promise.resolve(false),
    create: () => refuse('create on'),
    apply: () => refuse('apply on'),
    post: () => refuse('post to'),
    mergePatch: (_type: ResourceType, name: string) => refuse('patch on', name),
  };
}
