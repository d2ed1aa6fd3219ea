import type { KubeClient } from '../../shared/kube/ports.ts';
import type { KubeObjectOf, ResourceType, ServiceObject } from '../../shared/model/kubernetes.ts';
import { conditionOf } from '../../shared/status.ts';
import { eventually } from './wait.ts';

export type ConfigMap = KubeObjectOf<{ data?: Record<string, string> }>;

/** What a tenant does with the objects of one namespace. */
export interface Orders {
  create(name: string, foo: string): Promise<ServiceObject>;
  /** Another value in the spec. */
  change(name: string, foo: string): Promise<ServiceObject>;
  remove(name: string): Promise<void>;
  read(name: string): Promise<ServiceObject | undefined>;
  /** The object as soon as it is as wanted. */
  until(name: string, what: string, wanted: (object: ServiceObject) => boolean): Promise<ServiceObject>;
  /** Ready in its newest generation. */
  untilReady(name: string): Promise<ServiceObject>;
  untilReason(name: string, reason: string): Promise<ServiceObject>;
  untilGone(name: string): Promise<void>;
}

export function ordersIn(client: KubeClient, type: ResourceType, namespace: string): Orders {
  const read = (name: string) => client.get<ServiceObject>(type, name, namespace);
  const until: Orders['until'] = (name, what, wanted) =>
    eventually(`${namespace}/${name} is ${what}`, async (seen) => {
      const object = await read(name);
      seen(object);
      return object && wanted(object) && object;
    });
  return {
    read,
    until,
    // A type that is new may not be served yet.
    create: (name, foo) =>
      eventually(`${namespace}/${name} can be created`, () =>
        client.create<ServiceObject>(type, { metadata: { name, namespace }, spec: { foo } }),
      ),
    change: (name, foo) => client.mergePatch<ServiceObject>(type, name, { spec: { foo } }, { namespace }),
    remove: async (name) => void (await client.delete(type, name, { namespace })),
    untilReady: (name) => until(name, 'Ready', isReady),
    untilReason: (name, reason) => until(name, reason, (object) => conditionOf(object, 'Ready')?.reason === reason),
    untilGone: async (name) => {
      await eventually(`${namespace}/${name} is gone`, async (seen) => {
        const object = await read(name);
        seen(object);
        return object === undefined;
      });
    },
  };
}

export function isReady({ metadata, status }: ServiceObject): boolean {
  return status?.phase === 'Ready' && status.observedGeneration === metadata.generation;
}
