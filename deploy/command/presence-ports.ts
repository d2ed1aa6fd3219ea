import type { PresencePorts } from '../../functions/orphans/presence.ts';
import { readProviderConfig } from '../../functions/step/config-state.ts';
import { RuntimeError } from '../../shared/errors.ts';
import { Workspaces } from '../../shared/kcp/workspaces.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { onboardingFor } from './onboarding.ts';
import type { Setup } from './setup.ts';
import { ORPHANS_ACCESS_TIMEOUT_MS } from './tuning.ts';

/** How a command looks for objects, wherever they live. */
export function presencePorts(setup: Setup): PresencePorts {
  const { provider, platform } = setup;
  // Asked for when the first thing needs it: a provider that serves kcp alone needs no onboarding cluster.
  let onboarding: Promise<KubeClient> | undefined;
  const workspaces = provider.kcp && new Workspaces({ exportName: provider.kcp.exportName });
  return {
    type: provider.api.type,
    onboarding: () => (onboarding ??= onboardingFor(setup, 'run', AbortSignal.timeout(ORPHANS_ACCESS_TIMEOUT_MS))),
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
