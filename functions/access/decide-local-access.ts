/** On an AccessRequest: the address by which a process outside of the clusters' network reaches its cluster. */
export const LOCAL_ACCESS_ANNOTATION = 'clusters.open-control-plane.io/local-access';
const INTERNAL_ENDPOINT = 'apiserver-internal';

/** Addresses in place of the one in a kubeconfig. */
export interface LocalAddresses {
  /** For our own client. */
  readonly client: string;
  /** For what the provider installs; undefined: as in the kubeconfig. */
  readonly embedded: string | undefined;
}

/**
 * Pure: the addresses for debugging from outside, as the Go runtime takes them.
 * @param embedInternal what the provider installs runs on another cluster, from where only the cluster's internal address
 * can be reached
 * @returns undefined where the request names no such address, or one that is none
 */
export function localAddresses(
  annotations: Readonly<Record<string, string>> | undefined,
  endpoints: readonly { name: string; url: string }[],
  embedInternal: boolean,
): LocalAddresses | undefined {
  const client = annotations?.[LOCAL_ACCESS_ANNOTATION];
  if (client === undefined || !/^https:\/\/[^\s]+$/.test(client)) return undefined;
  return { client, embedded: embedInternal ? endpoints.find(({ name }) => name === INTERNAL_ENDPOINT)?.url : client };
}
