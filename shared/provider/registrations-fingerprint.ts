import type { Mode } from '../model/object-key.ts';
import { nameHash } from '../names.ts';
import type { Provider } from './provider.ts';
import { requestNamespaces } from './registration.ts';

/** An object that nobody has: what a registration's namespace would be for it. */
const PROBE = { namespace: 'probe', name: 'probe' };

/**
 * Pure: the same for all processes that make the same requests for an object, whatever rights they ask for. By it a process
 * tells whether another one of the same provider knows registrations that it does not.
 */
export function registrationsFingerprint({ access, workloadCluster }: Provider, mode: Mode): string {
  const registrations = Object.entries(access.clusters).map(
    ([id, { suffix = id, namespace = requestNamespaces.uuid, cluster, access: declared }]) =>
      [
        typeof namespace === 'string' ? namespace : namespace(PROBE),
        suffix,
        cluster.kind === 'order',
        declared !== undefined,
      ].join('/'),
  );
  return nameHash(mode, String(workloadCluster), ...registrations);
}
