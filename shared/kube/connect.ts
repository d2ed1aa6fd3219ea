import { HttpKubeClient } from './client.ts';
import type { ClusterCredentials } from './kubeconfig.ts';
import { agentFor, type TlsSettings } from './transport.ts';
import { ROTATION_CHECK_MS } from '../tuning.ts';

function tlsOf(credentials: ClusterCredentials): TlsSettings {
  const { ca, clientCertificate: cert, clientKey: key, tlsServerName: servername, insecure } = credentials;
  return { ca, cert, key, servername, rejectUnauthorized: insecure ? false : undefined };
}

/** A client for credentials that are plain data. */
export function clientFor(credentials: ClusterCredentials): HttpKubeClient {
  const { server, token } = credentials;
  return new HttpKubeClient(server, {
    dispatcher: agentFor(tlsOf(credentials)),
    authorization: () => Promise.resolve(token ? `Bearer ${token}` : undefined),
  });
}

/**
 * A client for credentials that are replaced from time to time: the token is read again every minute. Server and
 * authority stay those of the first reading.
 */
export async function clientForRotating(read: () => Promise<ClusterCredentials>): Promise<HttpKubeClient> {
  let current = await read();
  let readAt = Date.now();
  return new HttpKubeClient(current.server, {
    dispatcher: agentFor(tlsOf(current)),
    authorization: async () => {
      if (Date.now() - readAt > ROTATION_CHECK_MS) {
        readAt = Date.now();
        // Unreadable for the moment: the token at hand may still be good.
        current = await read().catch(() => current);
      }
      return current.token ? `Bearer ${current.token}` : undefined;
    },
  });
}
