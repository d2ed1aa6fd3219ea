import type { HttpKubeClient } from '../../shared/kube/client.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, CONFIG_MAPS } from '../../shared/kube/resources.ts';
import type { ResourceType } from '../../shared/model/kubernetes.ts';
import { conditionOf } from '../../shared/status.ts';
import type { ControlPlane } from './control-plane.ts';
import { goConfigMapNames } from './go-foo.ts';
import { requestsIn } from './requests.ts';
import { PROJECT, type Stage } from './stage.ts';

export const mcpRequest = (name: string): string => `foo--${name}--mcp`;
export const workloadRequest = (name: string): string => `foo--${name}--wl`;

/** A Foo on each of some control planes, whichever runtime serves them. */
export class GoFoos {
  readonly #stage: Stage;
  readonly #controlPlanes: ReadonlyMap<string, ControlPlane>;
  #workload: HttpKubeClient | undefined;

  private constructor(stage: Stage, controlPlanes: readonly ControlPlane[]) {
    this.#stage = stage;
    this.#controlPlanes = new Map(controlPlanes.map((one) => [one.name, one]));
  }

  /** Creates the control planes. */
  static async in(stage: Stage, names: readonly string[]): Promise<GoFoos> {
    const { landscape } = stage;
    return new GoFoos(stage, await Promise.all(names.map((name) => landscape.createControlPlane(PROJECT, name))));
  }

  /** On the platform. */
  namespaceOf(name: string): string {
    return this.#of(name).platformNamespace;
  }

  async createAll(names: readonly string[] = this.#names()): Promise<void> {
    for (const name of names) await this.#stage.orders.create(name, 'one');
    for (const name of names) await this.#stage.orders.untilReady(name);
    const [first = ''] = names;
    this.#workload = await this.#stage.landscape.clusterOfRequest(this.namespaceOf(first), workloadRequest(first));
  }

  async removeAll(names: readonly string[] = this.#names()): Promise<void> {
    for (const name of names) await this.#stage.orders.remove(name);
    for (const name of names) await this.#stage.orders.untilGone(name);
  }

  /** For each object: the uid of all that belongs to it, and when its Ready condition flipped last. */
  async identities(): Promise<Record<string, Record<string, string | undefined>>> {
    const all = this.#names().map(async (name) => [name, await this.#identity(name)] as const);
    return Object.fromEntries(await Promise.all(all));
  }

  /** What is left on the platform, in the control planes and in the workload cluster. */
  async leftOvers(names: readonly string[] = this.#names()): Promise<string[]> {
    if (!this.#workload) throw new Error('nothing was created yet');
    const found: string[] = [];
    for (const name of names) {
      found.push(
        ...(await requestsIn(this.#platform, this.namespaceOf(name), 'foo--')).map((one) => `${name}: ${one}`),
      );
      const maps = goConfigMapNames(PROJECT, name);
      if (await this.#of(name).client.get(CONFIG_MAPS, maps.mcp, 'default')) found.push(maps.mcp);
      if (await this.#workload.get(CONFIG_MAPS, maps.workload, 'default')) found.push(maps.workload);
    }
    return found;
  }

  async #identity(name: string): Promise<Record<string, string | undefined>> {
    const uid = async (client: KubeClient | undefined, type: ResourceType, object: string, namespace: string) =>
      (await client?.get(type, object, namespace))?.metadata.uid;
    const namespace = this.namespaceOf(name);
    const maps = goConfigMapNames(PROJECT, name);
    const foo = await this.#stage.orders.read(name);
    return {
      foo: foo?.metadata.uid,
      since: foo && conditionOf(foo, 'Ready')?.lastTransitionTime,
      mcp: await uid(this.#platform, ACCESS_REQUESTS, mcpRequest(name), namespace),
      workload: await uid(this.#platform, ACCESS_REQUESTS, workloadRequest(name), namespace),
      cluster: await uid(this.#platform, CLUSTER_REQUESTS, workloadRequest(name), namespace),
      mcpMap: await uid(this.#of(name).client, CONFIG_MAPS, maps.mcp, 'default'),
      workloadMap: await uid(this.#workload, CONFIG_MAPS, maps.workload, 'default'),
    };
  }

  get #platform(): KubeClient {
    return this.#stage.landscape.platform.client;
  }

  #names(): string[] {
    return [...this.#controlPlanes.keys()];
  }

  #of(name: string): ControlPlane {
    const found = this.#controlPlanes.get(name);
    if (!found) throw new Error(`there is no control plane ${name}`);
    return found;
  }
}
