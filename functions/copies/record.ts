import type { KubeClient } from '../../shared/kube/ports.ts';
import { CONFIG_MAPS } from '../../shared/kube/resources.ts';
import { equal } from '../../shared/model/json.ts';
import type { KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { formatObjectKey } from '../../shared/model/object-key.ts';
import { managedLabels, OBJECT_ANNOTATION, requestName } from '../../shared/names.ts';
import type { Run } from '../step/run.ts';
import type { DesiredCopy } from './decide-copies.ts';

type RecordMap = KubeObjectOf<{ data?: { copies?: string } }>;

/**
 * Which copies were made for an object, kept in the tenant's namespace: finding them on the clusters themselves would
 * take rights to list everybody's Secrets there. Written before a copy is made, so that none is forgotten.
 */
export class CopyRecord {
  readonly #platform: KubeClient;
  readonly #name: string;
  readonly #run: Run;

  constructor(run: Run) {
    this.#run = run;
    this.#platform = run.platform;
    this.#name = requestName(run.provider.controllerName, run.key.name, 'copies');
  }

  async read(): Promise<DesiredCopy[]> {
    const found = await this.#platform.get<RecordMap>(CONFIG_MAPS, this.#name, this.#run.tenantNamespace);
    return JSON.parse(found?.data?.copies ?? '[]') as DesiredCopy[];
  }

  /** @param before as it was read */
  async write(before: readonly DesiredCopy[], copies: readonly DesiredCopy[]): Promise<void> {
    if (equal(before, copies)) return;
    const { key, provider, tenantNamespace } = this.#run;
    await this.#platform.apply<RecordMap>(CONFIG_MAPS, {
      metadata: {
        name: this.#name,
        namespace: tenantNamespace,
        labels: managedLabels(provider.controllerName, key, 'copies'),
        annotations: { [OBJECT_ANNOTATION]: formatObjectKey(key) },
      },
      data: { copies: JSON.stringify(copies) },
    });
  }

  async remove(): Promise<void> {
    await this.#platform.delete(CONFIG_MAPS, this.#name, { namespace: this.#run.tenantNamespace });
  }
}
