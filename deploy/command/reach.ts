import { setTimeout as sleep } from 'node:timers/promises';
import { readProviderConfig } from '../../functions/step/config-state.ts';
import { onboardingRequestName } from '../../functions/access/onboarding.ts';
import { messageOf } from '../../shared/errors.ts';
import { KcpReach } from '../../shared/kcp/reach.ts';
import type { KcpSettings } from '../../shared/kcp/settings.ts';
import { ApiError } from '../../shared/kube/api-error.ts';
import type { HttpKubeClient } from '../../shared/kube/client.ts';
import { ACCESS_REQUESTS } from '../../shared/kube/resources.ts';
import type { Provider } from '../../shared/provider/provider.ts';
import { redact } from '../../shared/redact.ts';
import type { Onboarding } from './onboarding.ts';
import { REACH_LIMIT_MS, REACH_LOOK_MS } from './tuning.ts';

export interface ReachOptions {
  provider: Provider;
  platform: HttpKubeClient;
  onboarding: Onboarding;
  /** The provider's own namespace on the platform cluster. */
  namespace: string;
  /** Between two looks at one server, and how long it may take to answer. */
  everyMs?: number;
  limitMs?: number;
}

export interface Reach {
  /** A line for each API server that does not answer, or not as this process needs it. */
  problems(): string[];
  stop(): void;
}

/**
 * Asks each API server that a process needs, again and again, for something small that it needs there: a server that takes
 * connections and says nothing else is not found out by a watch for minutes, and never by a function without work.
 */
export function followReach(options: ReachOptions): Reach {
  const { provider, platform, onboarding, namespace } = options;
  const { everyMs = REACH_LOOK_MS, limitMs = REACH_LIMIT_MS } = options;
  const stopped = new AbortController();
  const { signal } = stopped;
  const own = (client: HttpKubeClient): HttpKubeClient => client.within(limitMs).fenced(() => undefined, signal);
  const lines = new Map<string, readonly string[]>();
  const follow = async (server: string, look: () => Promise<readonly string[]>): Promise<void> => {
    while (!signal.aborted) {
      lines.set(server, await look());
      await sleep(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  };

  let settings: KcpSettings | undefined;
  const kcp = provider.kcp && new KcpReach(provider.kcp.exportName);
  const askPlatform = async (): Promise<void> => {
    if (!provider.config) {
      await own(platform).get(ACCESS_REQUESTS, onboardingRequestName(provider, 'run'), namespace);
      return;
    }
    const config = await readProviderConfig(own(platform), provider);
    // Without a usable one the last still leads to objects.
    if (config.state === 'ok') settings = config.runtime.kcp;
  };
  const lookAtKcp = async (): Promise<readonly string[]> => {
    if (!kcp || !settings) return [];
    const addresses = await kcp.addresses(own(platform), settings, own);
    if (typeof addresses === 'string') return [`kcp: ${redact(addresses)}`];
    return (await Promise.all(addresses.map(({ name, ask }) => lack(`kcp: ${name}`, ask)))).flat();
  };

  const { plural } = provider.api.type;
  const servers: Record<string, () => Promise<readonly string[]>> = {
    'platform cluster': () => lack('platform cluster', askPlatform),
    'onboarding cluster': async () => {
      // Which is said already.
      if (onboarding.problems().length > 0) return [];
      const ask = () => own(onboarding.client).list(provider.api.type, { metadataOnly: true, atMost: 1 });
      return lack(`onboarding cluster: ${plural}`, ask);
    },
    ...(kcp ? { kcp: lookAtKcp } : {}),
  };
  for (const server of ['platform cluster', 'onboarding cluster']) lines.set(server, [`${server}: not asked yet`]);
  for (const [server, look] of Object.entries(servers)) void follow(server, look);
  return {
    problems: () => [...lines.values()].flat(),
    stop: () => stopped.abort(),
  };
}

async function lack(server: string, ask: () => Promise<unknown>): Promise<string[]> {
  try {
    await ask();
    return [];
  } catch (error) {
    // Busy, and there.
    if (error instanceof ApiError && error.status === 429) return [];
    return [`${server}: ${redact(messageOf(error))}`];
  }
}
