import type { Logger } from 'pino';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { parseBindAddress } from './bind-address.ts';
import { serveHealth } from './health.ts';
import type { Metrics } from './metrics.ts';
import { AccessReviews, detailsFor } from './metrics-access.ts';
import { checkMetrics, type MetricsAddress, serveMetrics } from './metrics-server.ts';
import type { PublishPort } from './publish-endpoint.ts';
import type { CommonOptions } from './setup.ts';
import { closeSoon, toldToEnd } from './shutdown.ts';

/** Flags of every command that runs until it is told to end. */
export interface AttendedOptions extends CommonOptions {
  healthProbeBindAddress: string;
  metricsBindAddress: string;
  metricsSecure: boolean;
  metricsCertPath?: string;
  metricsCertName: string;
  metricsCertKey: string;
}

export interface Attended {
  provider: string;
  /** Says who may read metrics and details of readiness; undefined: metrics only without `--metrics-secure`. */
  platform: KubeClient | undefined;
  metrics: Metrics;
  /** Takes events by `POST /publish` beside the metrics; undefined: that is off. */
  publish?: PublishPort | undefined;
  /** Why the process isn't ready; empty when it is. */
  problems: () => string[];
  log: Logger;
}

/**
 * Before anything is begun.
 * @throws RuntimeError `INVALID_SETTINGS` naming the flag and the remedy
 */
export function checkAttended(options: AttendedOptions, needs: { knowsCluster: boolean; publish?: boolean }): void {
  parseBindAddress(options.healthProbeBindAddress);
  checkMetrics(metricsAddress(options), needs);
}

function metricsAddress(options: AttendedOptions): MetricsAddress {
  const { metricsBindAddress: address, metricsSecure: secure } = options;
  const { metricsCertPath: folder, metricsCertName: cert, metricsCertKey: key } = options;
  return { address, secure, certificate: folder === undefined ? undefined : { folder, cert, key } };
}

/** Answers probes and serves metrics until the process is told to end. */
export async function attend(options: AttendedOptions, attended: Attended): Promise<void> {
  const { log } = attended;
  const reviews = attended.platform && new AccessReviews(attended.platform);
  const metricsServer = await serveMetrics({ ...attended, reviews, ...metricsAddress(options) });
  const problems = (): string[] => [...(metricsServer?.problems() ?? []), ...attended.problems()];
  const mayReadDetails = detailsFor(reviews);
  const health = await serveHealth(options.healthProbeBindAddress, { problems, mayReadDetails, log });
  log.info({ environment: options.environment }, 'started');
  await toldToEnd(log);
  log.info('stopping');
  await closeSoon(health, metricsServer);
}
