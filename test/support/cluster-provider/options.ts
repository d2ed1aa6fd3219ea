import type { HttpKubeClient } from '../../../shared/kube/client.ts';
import type { ClusterCredentials } from '../../../shared/kube/kubeconfig.ts';
import type { AccessRequest } from '../../../shared/model/access.ts';
import type { Cluster } from '../openmcp.ts';

/** On a Cluster: the name of the external cluster that it stands for. */
export const EXTERNAL_ANNOTATION = 'kcp.clusters.openmcp.cloud/external';

/** A cluster that somebody else runs, and an administrator's access to it. */
export interface ExternalCluster {
  client: HttpKubeClient;
  credentials: ClusterCredentials;
}

export interface ClusterProviderOptions {
  /** Name under which ClusterProfiles refer to us. */
  name: string;
  /** The ClusterProfiles that we answer for. */
  profiles: readonly string[];
  /** Platform cluster. */
  platform: HttpKubeClient;
  /** Administrator of the kcp in which the clusters come to be; its server is without a workspace. */
  kcpAdmin: HttpKubeClient;
  kcpCredentials: ClusterCredentials;
  /** Clusters that are no workspaces and exist already, by the name in {@link EXTERNAL_ANNOTATION}. */
  external?: ReadonlyMap<string, ExternalCluster>;
  /** Path of the workspace in which those of the clusters are made. */
  parent: string;
  /** Life of granted tokens, at least 600; they are renewed after four fifths of it. Default one day. */
  tokenLifeSeconds?: number;
  /** False holds all AccessRequests back until `setAutoGrant`. */
  autoGrant?: boolean;
  /** How many objects are worked on at a time. */
  concurrency?: number;
}

/** Decides whether an AccessRequest is denied; the text becomes the message of its condition. */
export type Denial = (request: AccessRequest) => string | undefined;

/** The external cluster that a Cluster stands for, if it does. */
export function externalOf(options: ClusterProviderOptions, cluster: Cluster): ExternalCluster | undefined {
  const name = cluster.metadata.annotations?.[EXTERNAL_ANNOTATION];
  return name === undefined ? undefined : options.external?.get(name);
}
