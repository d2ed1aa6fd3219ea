import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Provider } from '../shared/provider/define.ts';
import { openKcpConnection } from '../shared/kcp/connection.ts';
import type { HttpKubeClient } from '../shared/kube/client.ts';
import type { KubeconfigPolicy } from '../shared/kube/kubeconfig.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, CONFIG_MAPS, SECRETS } from '../shared/kube/resources.ts';
import type { Mode } from '../shared/model/object-key.ts';
import type { Reason } from '../shared/events/catalogue.ts';
import type { DeliveryState } from '../shared/queue/delivery-state.ts';
import type { Publisher } from '../shared/queue/publisher.ts';
import { AccessSecretWatch } from './requests/access-secret-watch.ts';
import { ConfigStatus } from './config/config-status.ts';
import { isUp, watchProblem } from './watch/decide-watch.ts';
import { startDuties } from './upkeep/duties.ts';
import { EpochKeeper } from './upkeep/epoch.ts';
import { type KnownObjects, SecretIndex } from './objects/fan-out.ts';
import { provisionExport } from './kcp/provision.ts';
import { type LeaderElection, leaderOf } from './lead/leader.ts';
import { KcpSwitch } from './kcp/kcp-switch.ts';
import type { KcpPorts } from './kcp/kcp-mode.ts';
import { LedMode } from './lead/led-mode.ts';
import { StandardMode } from './objects/standard-mode.ts';
import { ProviderConfigWatch } from './config/provider-config-watch.ts';
import { Sender } from './send/sender.ts';
import { ReferenceWatch } from './config/reference-watch.ts';
import { RequestWatch } from './requests/request-watch.ts';
import { namesOf } from './config/seen-references.ts';
import type { Notice } from './send/to-events.ts';
import { type BridgeTuning, DEFAULT_TUNING } from './tuning.ts';

export interface BridgeOptions {
  provider: Provider;
  platform: HttpKubeClient;
  /** Undefined: no standard mode. */
  onboarding: HttpKubeClient | undefined;
  /** The provider's own namespace on the platform cluster, with what the provider refers to. */
  providerNamespace: string;
  /** A sender's connection (see `senderConnection`); stays the caller's to close. */
  redis: Redis;
  /** Stays the caller's to close. */
  publisher: Publisher;
  state: DeliveryState;
  /** For the kubeconfig that the ProviderConfig names. */
  kubeconfigPolicy?: KubeconfigPolicy;
  leaderElection?: LeaderElection | undefined;
  log: Logger;
  tuning?: Partial<BridgeTuning>;
}

/** For metrics. */
export interface BridgeStats {
  /** Workspaces that bind the APIExport, over all shards. */
  boundWorkspaces: number;
  /** Objects that we held and that went without a deletion that was seen, since the start. */
  vanishedObjects: number;
  /** Objects that wait to be sent. */
  waiting: number;
  modes: { mode: Mode; leads: boolean; objects: number }[];
  watches: { watch: string; up: boolean }[];
}

export interface Bridge {
  /** Why the bridge isn't ready; empty when it is. */
  ready(): string[];
  /** Whether the process is worth keeping: true until it is stopped, whatever can't be reached. */
  healthy(): boolean;
  stats(): BridgeStats;
  /** Stops watching and sending. What wasn't sent is found again by the next start. */
  stop(): Promise<void>;
}

/**
 * Step 1: turns changes on the clusters into events on the queue. Follow one event:
 * 2. `watch-loop.ts` hears of a change at one address;
 * 3. `seen.ts` compares it with what was seen last;
 * 4. `relevance.ts` says whether it needs work, `fan-out.ts` which objects something else concerns;
 * 5. `to-events.ts` makes the event;
 * 6. `publish.ts` sends it, or remembers the object until it can.
 * `object-watch.ts` and `request-watch.ts` are these steps in a line; `duties.ts` is what happens without a change.
 *
 * Resolves without waiting for anything: what can't be reached is tried again for ever and named by `ready()`.
 */
export function startBridge(options: BridgeOptions): Promise<Bridge> {
  const { provider, platform, onboarding, redis, publisher, state, log } = options;
  const tuning: BridgeTuning = { ...DEFAULT_TUNING, ...options.tuning };
  let stopped = false;

  const open = (): boolean => redis.status === 'ready' && epoch.verified;
  const sender = new Sender(publisher, open, { tuning, log });
  const epoch = new EpochKeeper(state, {
    longestLeaseMs: tuning.longestLeaseMs,
    log,
    onChanged: () => sender.sweep('epoch', everything('EpochChanged')),
  });

  let vanishedObjects = 0;
  const onVanished = (): void => void (vanishedObjects += 1);
  const configStatus = new ConfigStatus({ provider, platform, log });
  const shared = { provider, platform, sender, tuning: tuning.watch, onVanished };
  const standard =
    onboarding &&
    new LedMode('standard', () => new StandardMode({ ...shared, onboarding, log: log.child({ mode: 'standard' }) }));
  const ports: KcpPorts = {
    connect: (cluster, settings) => openKcpConnection(cluster, settings, options.kubeconfigPolicy),
    provision: provisionExport,
  };
  const kcp =
    provider.kcp &&
    new LedMode(
      'kcp',
      () =>
        new KcpSwitch({
          ...shared,
          ports,
          upkeep: tuning.upkeep,
          onConditions: (conditions) => configStatus.report(conditions),
          log: log.child({ mode: 'kcp' }),
        }),
    );
  const modes = [standard, kcp].filter((mode) => mode !== undefined);
  const { leaderElection } = options;
  const lead = { provider: provider.name, platform, leaseMs: tuning.leaderLeaseMs, log };
  const leaders = leaderElection ? modes.map((mode) => leaderOf(mode, leaderElection, lead)) : [];
  function* everything(reason: Reason): Generator<Notice> {
    for (const mode of modes)
      for (const { key, generation } of mode.objects()) yield { key, generation, reason, priority: 'background' };
  }

  const known: KnownObjects = {
    runs: (mode) => modes.some((runner) => runner.mode === mode && runner.running),
    knows: (key) => modes.some((runner) => runner.mode === key.mode && runner.knows(key)),
    ofControlPlane: (request) => standard?.ofControlPlane(request),
  };
  const index = new SecretIndex();
  const secrets = new AccessSecretWatch({ platform, index, sender, tuning: tuning.watch, log });
  const requests = [CLUSTER_REQUESTS, ACCESS_REQUESTS].map((type) => ({
    type,
    watch: new RequestWatch({
      provider: provider.name,
      platform,
      type,
      known,
      sender,
      tuning: tuning.watch,
      log,
      ...(type === ACCESS_REQUESTS ? { onChange: (change) => index.apply(change) } : {}),
    }),
  }));
  const config =
    provider.config &&
    new ProviderConfigWatch({
      provider,
      type: provider.config.type,
      platform,
      tuning: tuning.watch,
      log,
      fanOut: () => sender.sweep('provider-config', everything('ProviderConfigChanged')),
      onConfig: (now) => {
        kcp?.configChanged(now);
        if (provider.kcp) configStatus.refresh();
      },
    });

  const { referencedSecrets, referencedConfigMaps } = provider;
  const references = [
    { type: SECRETS, names: referencedSecrets && ((now: unknown) => namesOf(referencedSecrets(now))) },
    { type: CONFIG_MAPS, names: referencedConfigMaps },
  ].flatMap(({ type, names }) =>
    names
      ? {
          type,
          watch: new ReferenceWatch({
            platform,
            type,
            namespace: options.providerNamespace,
            referenced: () => (!config || config.state.synced ? names(config?.config) : undefined),
            fanOut: () => sender.sweep(type.plural, everything('ReferenceChanged')),
            tuning: tuning.watch,
            log,
          }),
        }
      : [],
  );

  const endDuties = startDuties({
    redis,
    state,
    epoch,
    sender,
    active: () => modes.some((mode) => mode.led),
    resync: () => sender.sweep('resync', everything('Resync'), 'keep'),
    tuning,
    log,
  });
  // Requests first: an answer that is listed before its object is known costs nothing.
  for (const { watch } of requests) watch.start();
  secrets.start();
  config?.start();
  for (const { watch } of references) watch.start();
  if (leaderElection) for (const leader of leaders) leader.start();
  else for (const mode of modes) mode.start();

  const queueProblem = (): string | undefined => {
    if (open()) return sender.problem;
    return `queue: Redis is not ${redis.status === 'ready' ? 'checked' : 'connected'} (${sender.waiting} objects wait)`;
  };

  return Promise.resolve({
    ready: () =>
      [
        stopped ? 'stopped' : undefined,
        queueProblem(),
        config && watchProblem('ProviderConfig', config.state),
        ...[...requests, ...references].map(({ type, watch }) => watchProblem(`platform: ${type.plural}`, watch.state)),
        ...modes.flatMap((mode) => mode.status()),
      ].filter((problem) => problem !== undefined),
    healthy: () => !stopped,
    stats: () => ({
      boundWorkspaces: kcp?.boundWorkspaces ?? 0,
      vanishedObjects,
      waiting: sender.waiting,
      modes: modes.map((mode) => ({ mode: mode.mode, leads: mode.led, objects: count(mode.objects()) })),
      watches: [
        { watch: 'objects', up: modes.every((mode) => mode.status().length === 0) },
        ...(config ? [{ watch: 'providerconfigs', up: isUp(config.state) }] : []),
        ...requests.map(({ type, watch }) => ({ watch: type.plural, up: isUp(watch.state) })),
      ],
    }),
    async stop() {
      stopped = true;
      await Promise.all(leaders.map((leader) => leader.stop()));
      for (const mode of modes) mode.stop();
      config?.stop();
      secrets.stop();
      configStatus.stop();
      for (const { watch } of [...requests, ...references]) watch.stop();
      endDuties();
      await sender.stop();
    },
  });
}

function count(objects: Iterable<unknown>): number {
  let number = 0;
  for (const object of objects) if (object) number += 1;
  return number;
}
