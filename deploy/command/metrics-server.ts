import { unwatchFile, watchFile } from 'node:fs';
import type { Server } from 'node:https';
import { join } from 'node:path';
import type { FastifyServerOptions } from 'fastify';
import type { Logger } from 'pino';
import { plainFastify } from '../../functions/host/plain-fastify.ts';
import { messageOf, RuntimeError } from '../../shared/errors.ts';
import { parseBindAddress } from './bind-address.ts';
import type { AccessReviews } from './metrics-access.ts';
import { type PublishPort, servePublish } from './publish-endpoint.ts';
import type { Metrics } from './metrics.ts';
import { type KeyPair, selfSignedCertificate } from './self-signed.ts';
import { settingsFile } from './settings-file.ts';
import { CERTIFICATE_LOOK_MS } from './tuning.ts';

export interface MetricsServerOptions {
  /** As of `--metrics-bind-address`. */
  address: string;
  /** HTTPS, and only for whom the platform cluster lets get `/metrics`. */
  secure: boolean;
  /** Folder and names of certificate and key; without it we make our own. */
  certificate: { folder: string; cert: string; key: string } | undefined;
  provider: string;
  /** Says who may read; undefined: this process knows no cluster, and serves without `secure` alone. */
  reviews: AccessReviews | undefined;
  metrics: Metrics;
  /** Takes events by `POST /publish`; undefined: that is off. */
  publish?: PublishPort | undefined;
  log: Logger;
}

export interface MetricsServer {
  close(): Promise<void>;
}

/** Serves `/metrics`. */
export async function serveMetrics(options: MetricsServerOptions): Promise<MetricsServer | undefined> {
  const { address, secure, certificate, provider, reviews, metrics, publish, log } = options;
  const bind = parseBindAddress(address, '--metrics-bind-address');
  if (!bind) return undefined;
  if (secure && !reviews)
    throw new RuntimeError(
      'INVALID_SETTINGS',
      '--metrics-secure: this command knows no cluster that could say who may read; set it to false',
    );
  if (publish && !secure)
    throw new RuntimeError(
      'INVALID_SETTINGS',
      '--publish-endpoint: needs --metrics-secure, which says who may publish',
    );
  const read = (): KeyPair => (certificate ? readCertificate(certificate) : selfSignedCertificate(provider));
  const server = secure ? plainFastify({ https: read() } as FastifyServerOptions) : plainFastify();
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
  await server.listen(bind);
  const file = secure && certificate ? join(certificate.folder, certificate.cert) : undefined;
  if (file)
    watchFile(file, { interval: CERTIFICATE_LOOK_MS, persistent: false }, () => {
      try {
        (server.server as unknown as Server).setSecureContext(read());
        log.info('the certificate for metrics was replaced');
      } catch (error) {
        // Half written; the next look finds it whole.
        log.warn({ problem: messageOf(error) }, 'the certificate for metrics stays the earlier one');
      }
    });
  return {
    async close() {
      if (file) unwatchFile(file);
      await server.close();
    },
  };
}

function readCertificate({ folder, cert, key }: { folder: string; cert: string; key: string }): KeyPair {
  const read = (name: string): string => settingsFile(join(folder, name), `--metrics-cert-path ${folder}`);
  return { cert: read(cert), key: read(key) };
}
