import type { Logger } from 'pino';
import { openKcpConnection } from '../shared/kcp/connection.ts';
import type { HttpKubeClient } from '../shared/kube/client.ts';
import type { KubeconfigPolicy } from '../shared/kube/kubeconfig.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, CONFIG_MAPS, SECRETS } from '../shared/kube/resources.ts';
import type { Provider } from '../shared/provider/provider.ts';
import type { DeliveryState } from '../shared/queue/delivery-state.ts';
import type { Publisher } from '../shared/queue/publisher.ts';
import { ConfigStatus } from './config/config-status.ts';
import { ProviderConfigWatch } from './config/provider-config-watch.ts';
import { referenceWatch } from './config/reference-watch.ts';
import { RegistrationsInForce } from './upkeep/registrations.ts';
import { namesOf } from './config/seen-references.ts';
import { KcpMode } from './kcp/kcp-mode.ts';
import { provisionExport } from './kcp/provision.ts';
import { led, type LeaderElection } from './lead/leader.ts';
import { FollowedObjects } from './objects/followed.ts';
import { StandardMode } from './objects/standard-mode.ts';
import { type BridgeStats, type Part, sumOfStats, together } from './part.ts';
import { accessSecretWatch } from './requests/access-secret-watch.ts';
import { requestWatch } from './requests/request-watch.ts';
import { OwnerIndex } from './requests/owner-index.ts';
import { SecretIndex } from './requests/secret-index.ts';
import { Sender } from './send/sender.ts';
import { type BridgeTuning, DEFAULT_TUNING, MARK_LIMIT_MS, PERMANENT_LOOK_MS } from './tuning.ts';
import { duties } from './upkeep/duties.ts';
import { worthALook } from './upkeep/decide-resync.ts';
import { EpochKeeper } from './upkeep/epoch.ts';
import { firstStartOn } from './upkeep/first-start.ts';
import { leftBehind } from './upkeep/left-behind.ts';

export interface BridgeOptions {
  provider: Provider;
  platform: HttpKubeClient;
  /** Undefined: no standard mode. */
  onboarding: HttpKubeClient | undefined;
  /** The provider's own namespace on the platform cluster, with what the provider refers to. */
  providerNamespace: string;
  /** On a sender's connection (see `senderConnection`); stays the caller's to close. */
  publisher: Publisher;
  state: DeliveryState;
  /** For the kubeconfig that the ProviderConfig names. */
  kubeconfigPolicy?: KubeconfigPolicy;
  leaderElection?: LeaderElection | undefined;
  log: Logger;
  tuning?: Partial<BridgeTuning>;
}

export interface Bridge {
  /** Why the bridge isn't ready; empty when it is. */
  ready(): string[];
  stats(): BridgeStats;
  /** Stops watching and sending. What wasn't sent is found again by the next start. */
  stop(): Promise<void>;
}

/**
 * Step 1: turns changes on the clusters into events on the queue. Follow one event:
 * 2. `watch/loop.ts` hears of the change at one address;
 * 3. `watch/kind-watch.ts` compares it with what was seen last (`watch/seen.ts`);
 * 4. `objects/relevance.ts` says whether it needs work, `requests/object-of-request.ts` which object something else concerns;
 * 5. `send/to-events.ts` makes the event;
 * 6. `send/sender.ts` sends it, or remembers the object until it can.
 * `objects/object-watch.ts` and `requests/request-watch.ts` are these steps in a line; `upkeep/duties.ts` is what happens
 * without a change.
 *
 * Resolves without waiting for anything: what can't be reached is tried again for ever and named by `ready()`.
 */
export function startBridge(options: BridgeOptions): Promise<Bridge> {
  const parts = partsOf(options, { ...DEFAULT_TUNING, ...options.tuning });
  let stopped = false;
  for (const part of parts) part.start?.();
  return Promise.resolve({
    ready: () => (stopped ? ['stopped'] : parts.flatMap((part) => part.problems?.() ?? [])),
    stats: () => sumOfStats(parts.map((part) => part.stats?.() ?? {})),
    async stop() {
      stopped = true;
      const [queue, ...sources] = parts;
      await Promise.all(sources.map(async (part) => part.stop?.()));
      // Waits a moment for what is under way.
      await queue?.stop?.();
    },
  });
}

/** What is watched, what sends, and what is done without a change, in the order in which it starts. */
function partsOf(options: BridgeOptions, tuning: BridgeTuning): Part[] {
  const { provider, platform, providerNamespace, publisher, state, leaderElection, log } = options;
  const owners = new Map([CLUSTER_REQUESTS, ACCESS_REQUESTS].map((type) => [type, new OwnerIndex()] as const));
  // In a workspace more than requests may be left.
  const followed = new FollowedObjects(
    (key) => key.mode === 'kcp' || [...owners.values()].some((each) => each.has(key)),
  );
  const startedAt = performance.now();
  const open = (): boolean => state.link.connected && epoch.verified;
  const sender = new Sender(publisher, open, { tuning, log });
  const epoch = new EpochKeeper(state, {
    longestLeaseMs: tuning.longestLeaseMs,
    firstStart: firstStartOn({ provider, platform: platform.within(MARK_LIMIT_MS), namespace: providerNamespace }),
    log,
    onChanged: () => sender.sweep('epoch', followed.everything('EpochChanged')),
  });
  const queue: Part = {
    problems: () => {
      const unchecked = epoch.problem === undefined ? 'checked' : `checked: ${epoch.problem}`;
      const closed = `queue: Redis is not ${state.link.connected ? unchecked : 'connected'} (${sender.waiting} objects wait)`;
      const problem = open() ? sender.problem : closed;
      return problem === undefined ? [] : [problem];
    },
    stats: () => ({ waiting: sender.waiting }),
    stop: () => sender.stop(),
  };

  const watching = { platform, sender, tuning: tuning.watch, log };
  const index = new SecretIndex();
  // First: an answer that is listed before its object is known costs nothing.
  const requests = [...owners].map(([type, owners]) =>
    requestWatch({
      ...watching,
      provider: provider.name,
      type,
      known: followed,
      onChange: (change) => {
        owners.apply(change);
        if (type === ACCESS_REQUESTS) index.apply(change);
      },
    }),
  );

  const configStatus = new ConfigStatus({ provider, platform, log });
  const { kcp, modes } = modesOf(options, { ...watching, followed, configStatus, upkeep: tuning.upkeep });
  const leading = modes.map((mode) => {
    const inForce = new RegistrationsInForce({
      provider,
      mode: mode.mode,
      platform,
      log: log.child({ mode: mode.mode }),
    });
    return { mode: mode.mode, inForce, part: together(mode, inForce) };
  });
  const config =
    provider.config &&
    new ProviderConfigWatch({
      ...watching,
      provider,
      type: provider.config.type,
      fanOut: () => sender.sweep('provider-config', followed.everything('ProviderConfigChanged')),
      onConfig: (now) => {
        for (const { inForce } of leading) inForce.configChanged(now);
        kcp?.configChanged(now);
        if (kcp) configStatus.refresh();
      },
    });

  const { referencedSecrets, referencedConfigMaps } = provider;
  const references = [
    { type: SECRETS, names: referencedSecrets && ((now: unknown) => namesOf(referencedSecrets(now))) },
    { type: CONFIG_MAPS, names: referencedConfigMaps },
  ].flatMap(({ type, names }) =>
    names
      ? referenceWatch({
          ...watching,
          type,
          namespace: providerNamespace,
          referenced: () => (!config || config.synced ? names(config?.config) : undefined),
          fanOut: () => sender.sweep(type.plural, followed.everything('ReferenceChanged')),
        })
      : [],
  );

  const lead = leaderElection && { ...leaderElection, platform, leaseMs: tuning.leaderLeaseMs, log };
  return [
    queue,
    followed,
    ...requests,
    accessSecretWatch({ ...watching, provider: provider.name, index, known: followed }),
    configStatus,
    ...(config ? [config] : []),
    ...references,
    // Two modes are two Leases: a mode that fails in one replica says nothing about the other.
    ...leading.map(({ mode, part }) => (lead ? led(part, { ...lead, name: `${provider.name}-${mode}` }) : part)),
    duties({
      state,
      epoch,
      sender,
      active: () => modes.some((mode) => mode.leads),
      resync: async () => {
        // While Redis is away, everything: it is sent when it is back.
        const failures = await state.permanentFailures(PERMANENT_LOOK_MS).catch(() => new Map());
        const sparing = { limitMs: PERMANENT_LOOK_MS, sinceMs: performance.now() - startedAt - tuning.resyncMs };
        const all = followed.everything('Resync');
        sender.sweep('resync', worthALook(all, failures, config?.generation, sparing), 'keep');
      },
      tuning,
      log,
    }),
    leftBehind({
      ...watching,
      provider: provider.name,
      known: followed,
      owners: function* () {
        for (const each of owners.values()) yield* each.owners();
      },
      listed: () => requests.every(({ listed }) => listed),
      everyMs: tuning.resyncMs,
    }),
  ];
}

/** The ways in which tenants order. Modes know nothing of each other: one that fails leaves the other as it is. */
function modesOf(
  { provider, onboarding, kubeconfigPolicy, log }: BridgeOptions,
  watching: {
    platform: HttpKubeClient;
    followed: FollowedObjects;
    sender: Sender;
    tuning: BridgeTuning['watch'];
    upkeep: BridgeTuning['upkeep'];
    configStatus: ConfigStatus;
  },
): { kcp: KcpMode | undefined; modes: (StandardMode | KcpMode)[] } {
  const standard =
    onboarding && new StandardMode({ ...watching, provider, client: onboarding, log: log.child({ mode: 'standard' }) });
  const kcp =
    provider.kcp &&
    new KcpMode({
      ...watching,
      provider,
      ports: {
        connect: (cluster, settings) => openKcpConnection(cluster, settings, kubeconfigPolicy),
        provision: provisionExport,
      },
      onConditions: (conditions) => watching.configStatus.report(conditions),
      log: log.child({ mode: 'kcp' }),
    });
  return { kcp, modes: [standard, kcp].filter((mode) => mode !== undefined) };
}
