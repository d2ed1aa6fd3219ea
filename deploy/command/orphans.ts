import { RuntimeError } from '../../shared/errors.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { displayKey } from '../../shared/model/object-key.ts';
import { redact } from '../../shared/redact.ts';
import { Workspaces } from '../../shared/kcp/workspaces.ts';
import { readProviderConfig } from '../../functions/step/config-state.ts';
import { orderOnboardingAccess } from '../../functions/access/onboarding.ts';
import { type OrphanFinding, orphansOf } from '../../functions/orphans/orphans.ts';
import type { PresencePorts } from '../../functions/orphans/presence.ts';
import { type CommonOptions, givenOnboarding, setUp, type Setup } from './setup.ts';
import { ORPHANS_ACCESS_TIMEOUT_MS } from './tuning.ts';

export interface OrphansOptions extends CommonOptions {
  delete: boolean;
}

/** `service-provider orphans [--delete]`: a line for each thing that is not in use; fails where one could not be judged. */
export async function orphans(options: OrphansOptions): Promise<void> {
  const setup = await setUp(options, { redis: false });
  const counts = { 'in-use': 0, orphan: 0, unknown: 0, kept: 0 };
  for await (const finding of orphansOf(setup.platform, setup.provider, portsOf(setup), options.delete)) {
    counts[finding.verdict.verdict] += 1;
    if (finding.removal?.removed === false) counts.kept += 1;
    if (finding.verdict.verdict !== 'in-use') process.stdout.write(`${redact(line(finding))}\n`);
  }
  const { orphan, unknown, kept } = counts;
  process.stdout.write(
    `${orphan} orphans${options.delete ? `, ${orphan - kept} deleted` : ''}, ${counts['in-use']} in use, ${unknown} could not be judged\n`,
  );
  if (unknown + kept > 0) process.exitCode = 1;
}

function line({ owned, verdict, removal }: OrphanFinding): string {
  const { namespace, name } = owned.object.metadata;
  const what = `${owned.type.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
  const whose = owned.key ? ` of ${displayKey(owned.key)}` : '';
  if (verdict.verdict === 'unknown') return `unknown  ${what}${whose}: ${verdict.why}`;
  if (!removal) return `orphan   ${what}${whose}`;
  return removal.removed ? `deleted  ${what}${whose}` : `kept     ${what}${whose}: ${removal.why}`;
}

function portsOf({ env, provider, platform, log }: Setup): PresencePorts {
  // Asked for when the first thing needs it: a provider that serves kcp alone needs no onboarding cluster.
  let onboarding: Promise<KubeClient> | undefined;
  const workspaces =
    provider.kcp && new Workspaces({ exportName: provider.kcp.exportName, externalUrl: env.KCP_EXTERNAL_URL });
  return {
    type: provider.api.type,
    onboarding: () =>
      (onboarding ??=
        givenOnboarding(env) ??
        orderOnboardingAccess(
          platform,
          provider,
          'run',
          env.POD_NAMESPACE,
          log,
          AbortSignal.timeout(ORPHANS_ACCESS_TIMEOUT_MS),
          env.LOCAL_ACCESS,
        )),
    async workspace(logicalCluster) {
      const config = await readProviderConfig(platform, provider);
      if (config.state !== 'ok') throw new RuntimeError('NOT_READY', config.message);
      const settings = config.runtime.kcp;
      if (!workspaces || !settings)
        throw new RuntimeError('NOT_READY', 'the ProviderConfig has no spec.kcp, so its workspaces are out of reach');
      return workspaces.open(platform, settings, logicalCluster, () => undefined);
    },
  };
}
