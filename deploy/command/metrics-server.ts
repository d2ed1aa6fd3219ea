import type { Server } from 'node:https';
import { join } from 'node:path';
import type { FastifyServerOptions } from 'fastify';
import type { Logger } from 'pino';
import { listenOn } from '../../functions/host/listen.ts';
import { plainFastify } from '../../functions/host/plain-fastify.ts';
import { messageOf, RuntimeError } from '../../shared/errors.ts';
import { pairProblem } from '../../shared/kube/pem.ts';
import { parseBindAddress } from './bind-address.ts';
import type { AccessReviews } from './metrics-access.ts';
import { type PublishPort, servePublish } from './publish-endpoint.ts';
import type { Metrics } from './metrics.ts';
import { type KeyPair, selfSignedCertificate } from './self-signed.ts';
import { refuse, settingsFile } from './settings-file.ts';
import { FILE_LOOK_MS } from './tuning.ts';

/** Where metrics are served, and how. */
export interface MetricsAddress {
  /** As of `--metrics-bind-address`. */
  address: string;
  /** HTTPS, and only for whom the platform cluster lets get `/metrics`. */
  secure: boolean;
  /** Folder and names of certificate and key; without it we make our own. */
  certificate: CertificateFiles | undefined;
}

interface CertificateFiles {
  folder: string;
  cert: string;
  key: string;
}

export interface MetricsServerOptions extends MetricsAddress {
  provider: string;
  /** Says who may read; undefined: this process knows no cluster, and serves without `secure` alone. */
  reviews: AccessReviews | undefined;
  metrics: Metrics;
  /** Takes events by `POST /publish`; undefined: that is off. */
  publish?: PublishPort | undefined;
  log: Logger;
}

export interface MetricsServer {
  /** Why the certificate can't be read again; empty when it can. */
  problems(): string[];
  close(): Promise<void>;
}

/** @throws RuntimeError `INVALID_SETTINGS` naming the flag and the remedy */
export function checkMetrics(
  { address, secure, certificate }: MetricsAddress,
  { knowsCluster, publish = false }: { knowsCluster: boolean; publish?: boolean },
): ReturnType<typeof parseBindAddress> {
  const bind = parseBindAddress(address, '--metrics-bind-address');
  if (!bind) return undefined;
  if (secure && !knowsCluster)
    throw new RuntimeError(
      'INVALID_SETTINGS',
      '--metrics-secure: this command knows no cluster that could say who may read; set it to false',
    );
  if (publish && !secure)
    throw new RuntimeError(
      'INVALID_SETTINGS',
      '--publish-endpoint: needs --metrics-secure, which says who may publish',
    );
  if (secure && certificate) readCertificate(certificate);
  return bind;
}

/** Serves `/metrics`. */
export async function serveMetrics(options: MetricsServerOptions): Promise<MetricsServer | undefined> {
  const { secure, provider, reviews, metrics, publish, log } = options;
  const bind = checkMetrics(options, { knowsCluster: reviews !== undefined, publish: publish !== undefined });
  if (!bind) return undefined;
  const certificate = secure ? options.certificate : undefined;
  let pair = certificate ? readCertificate(certificate) : selfSignedCertificate(provider);
  const server = secure ? plainFastify({ https: pair } as FastifyServerOptions) : plainFastify();
  if (secure && reviews)
    server.addHook('onRequest', async (request, reply) => {
      const what = { path: request.url.split('?')[0] ?? '', verb: request.method.toLowerCase() };
      const answer = await reviews.may(request.headers.authorization, what).catch((error: unknown) => {
        log.warn({ problem: messageOf(error) }, 'who asks could not be checked');
        return 503 as const;
      });
      if (answer !== 200) return reply.code(answer).send();
    });
  server.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()));
  if (publish) servePublish(server, publish);
  await listenOn(server, bind);
  let problem: string | undefined;
  const look = (files: CertificateFiles): void => {
    try {
      const now = readCertificate(files);
      problem = undefined;
      if (now.cert === pair.cert && now.key === pair.key) return;
      (server.server as unknown as Server).setSecureContext(now);
      pair = now;
      log.info('the certificate for metrics was replaced');
    } catch (error) {
      // Half written, or away for the moment: the next look may find it whole.
      const told = problem === messageOf(error);
      problem = messageOf(error);
      if (!told) log.warn({ problem }, 'the certificate for metrics stays the earlier one');
    }
  };
  const looking = certificate ? setInterval(() => look(certificate), FILE_LOOK_MS).unref() : undefined;
  return {
    problems: () => (problem === undefined ? [] : [problem]),
    async close() {
      clearInterval(looking);
      await server.close();
    },
  };
}

function readCertificate({ folder, cert: certName, key: keyName }: CertificateFiles): KeyPair {
  const setting = `--metrics-cert-path ${folder}`;
  const pair = {
    cert: settingsFile(join(folder, certName), setting),
    key: settingsFile(join(folder, keyName), setting),
  };
  refuse(`${setting}: ${certName} and ${keyName}`, pairProblem(pair.cert, pair.key));
  return pair;
}
