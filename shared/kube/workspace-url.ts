/** kcp serves each workspace under `<base>/clusters/<path or logical cluster>`. */
const CLUSTERS_PATH = /\/clusters\/[^/]+\/?$/;

/** The address without a trailing `/clusters/…` and slash. */
export function kcpBaseUrl(server: string): string {
  return server.replace(CLUSTERS_PATH, '').replace(/\/+$/, '');
}

/**
 * The address of one workspace.
 * @param server any kcp address, or one endpoint of an APIExportEndpointSlice
 * @param workspace a path (`root:org:team`), a logical cluster's name, or `*` for all bound workspaces
 */
export function workspaceUrl(server: string, workspace: string): string {
  return `${kcpBaseUrl(server)}/clusters/${workspace}`;
}
