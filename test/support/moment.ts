import type { KubeClient } from '../../shared/kube/ports.ts';
import type { ResourceType, ServiceObject } from '../../shared/model/kubernetes.ts';
import { follow } from './follow.ts';

const LIMIT_MS = 90_000;

/** Does something in the very moment in which a watch tells of a change, before anything else of this process runs. */
export async function inTheMoment(
  client: KubeClient,
  type: ResourceType,
  wanted: (object: ServiceObject) => boolean,
  act: () => void,
): Promise<{ passed: Promise<void> }> {
  const controller = new AbortController();
  let happened: () => void;
  const moment = new Promise<void>((resolve) => (happened = resolve));
  await follow<ServiceObject>(client, type, {
    signal: controller.signal,
    onEvent: ({ type: kind, object }) => {
      if (controller.signal.aborted || kind === 'DELETED' || !wanted(object)) return;
      act();
      controller.abort();
      happened();
    },
  });
  const late = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(new Error(`the moment of ${type.plural} did not come`)), LIMIT_MS);
    controller.signal.addEventListener('abort', () => clearTimeout(timer));
  });
  return { passed: Promise.race([moment, late]) };
}
