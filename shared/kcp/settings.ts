/** Where kcp mode finds its provider workspace; `spec.kcp` of a ProviderConfig. */
export interface KcpSettings {
  /** Path of the provider workspace, such as `root:org:services`. */
  providerWorkspace: string;
  /** Secret on the platform cluster with the key `kubeconfig`. */
  kubeconfigSecret: { name: string; namespace: string };
}
