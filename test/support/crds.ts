import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { isAlreadyExists } from '../../shared/kube/api-error.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { CRDS } from '../../shared/kube/resources.ts';
import type { Condition, KubeObject, KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { eventually } from './wait.ts';

const FOLDER = join(import.meta.dirname, '..', 'control-planes', 'crds');

type Crd = KubeObjectOf<{
  spec: { group: string; names: { plural: string }; versions: { name: string; served: boolean }[] };
  status?: { conditions?: Condition[] };
}>;

/** Those of openmcp-operator whose file name starts with the given text. */
export function openmcpCrds(prefix: string): KubeObject[] {
  return readdirSync(FOLDER)
    .filter((file) => file.startsWith(prefix))
    .flatMap((file) => parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8')))
    .map((document) => document.toJS() as KubeObject);
}

/** The two kinds that the operator deploys besides ServiceProviders. Their types are the same but for the names. */
export function otherProviderCrds(): KubeObject[] {
  return ['ClusterProvider', 'PlatformService'].map((kind) => {
    const [crd] = openmcpCrds('openmcp.cloud_serviceproviders');
    const text = JSON.stringify(crd);
    return JSON.parse(
      text.replaceAll('ServiceProvider', kind).replaceAll('serviceprovider', kind.toLowerCase()),
    ) as KubeObject;
  });
}

/**
 * How long to wait for a new type:
 * - `served`: it can be read and written, after a tenth of a second.
 * - `discovered`: it has the condition `Established` and is in discovery, which Go clients need; 5 s later.
 * - `settled`: its creations are as fast as they will ever be, for measurements. The server delays those of the first
 *   two seconds of a type, and those of the two seconds after it is established; 2 s later.
 */
export type InstallStage = 'served' | 'discovered' | 'settled';

const DELAYED_CREATIONS_MS = 2_500;

/** Installs CRDs and waits for their types. Those that are there already are left as they are. */
export async function installCrds(
  client: KubeClient,
  crds: readonly KubeObject[],
  until: InstallStage = 'served',
): Promise<void> {
  await Promise.all(crds.map((crd) => installCrd(client, crd as Crd, until)));
  if (until === 'settled') await sleep(DELAYED_CREATIONS_MS);
}

async function installCrd(client: KubeClient, crd: Crd, until: InstallStage): Promise<void> {
  const { name } = crd.metadata;
  await client.create(CRDS, crd).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
  const { group, names, versions } = crd.spec;
  const served = versions.find((version) => version.served)?.name ?? '';
  const type = { group, version: served, plural: names.plural, kind: '', namespaced: false };
  await eventually(`${name} is ${until} by ${client.server}`, async (seen) => {
    const current = await client.get<Crd>(CRDS, name);
    seen(current?.status);
    const conditions = current?.status?.conditions ?? [];
    const established = conditions.some((one) => one.type === 'Established' && one.status === 'True');
    return (established || until === 'served') && client.list(type, { pageSize: 1 });
  });
}
