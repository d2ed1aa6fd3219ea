import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { foo } from '../../functions/providers/foo/provider.ts';
import { formatKubeconfig } from '../../shared/kube/kubeconfig.ts';
import { workspaceUrl } from '../../shared/kube/workspace-url.ts';
import type { Landscape } from '../support/landscape.ts';
import type { TenantWorkspace } from '../support/workspaces.ts';
import { heading, say } from './print.ts';
import type { Actor } from './scene.ts';

/** The tenant's own view of its workspace. */
export function writeTenantKubeconfig({ kcp, dir }: Landscape, workspace: TenantWorkspace): string {
  const path = join(dir, 'tenant-bob.kubeconfig');
  const server = workspaceUrl(kcp.server, workspace.path);
  writeFileSync(path, formatKubeconfig({ ...kcp.adminCredentials, server }), { mode: 0o600 });
  return path;
}

/** Says how to go on by hand. */
export function printPlayground(options: {
  landscape: Landscape;
  tenantKubeconfig: string;
  actors: Actor[];
  logFile: string;
}): void {
  const { landscape, tenantKubeconfig, actors, logFile } = options;
  const kubeconfigOf = (actor: Actor) =>
    actor.mode === 'standard' ? landscape.onboarding.kubeconfigPath : tenantKubeconfig;
  const type = `${foo.api.type.plural}.${foo.api.type.group}`;
  heading('It stays up: play with it, with kubectl in another terminal');
  for (const actor of actors) {
    const { namespace, name } = actor;
    const kubectl = `kubectl --kubeconfig ${kubeconfigOf(actor)} -n ${namespace}`;
    say(`\n  ${actor.mode === 'standard' ? 'the onboarding cluster' : "bob's kcp workspace"}`);
    say(`    look     ${kubectl} get ${type} ${name} -o yaml`);
    say(`    change   ${kubectl} patch ${type} ${name} --type merge -p '{"spec":{"foo":"changed"}}'`);
    say(`    delete   ${kubectl} delete ${type} ${name}`);
    say(`    create   ${manifest(actor)} | ${kubectl} apply -f -`);
  }
  say('\n  the platform cluster: requests, kubeconfig Secrets, ProviderConfig');
  say(`    look     kubectl --kubeconfig ${landscape.platform.kubeconfigPath} get accessrequests,clusterrequests -A`);
  say(`\n  logs       ${logFile}, and those of each server beside it`);
  say('\n  Ctrl-C stops everything.\n');
}

function manifest({ namespace, name }: Actor): string {
  const { group, version, kind } = foo.api.type;
  const object = {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: { namespace, name },
    spec: { foo: 'again' },
  };
  return `echo '${JSON.stringify(object)}'`;
}
