import { HttpKubeClient } from './client.ts';
import type { ClusterCredentials } from './kubeconfig.ts';
import { rotating } from './rotating.ts';
import { agentFor, type TlsSettings } from './transport.ts';

function tlsOf(credentials: ClusterCredentials): TlsSettings {
  const { ca, clientCertificate: cert, clientKey: key, tlsServerName: servername, insecure } = credentials;
  return { ca, cert, key, servername, rejectUnauthorized: insecure ? false : undefined };
}

/** A client for credentials that are plain data. */
export function clientFor(credentials: ClusterCredentials): HttpKubeClient {
  return new HttpKubeClient(credentials.server, {
    dispatcher: agentFor(tlsOf(credentials)),
    authorization: () => Promise.resolve(bearer(credentials)),
  });
}

/**
 * A client for credentials that are replaced from time to time: the token is read again every minute. Server and
 * authority stay those of the first reading.
 */
export async function clientForRotating(read: () => Promise<ClusterCredentials>): Promise<HttpKubeClient> {
  const current = rotating(read);
  const first = await current();
  return new HttpKubeClient(first.server, {
    dispatcher: agentFor(tlsOf(first)),
    authorization: async () => bearer(await current()),
  });
}

function bearer({ token }: ClusterCredentials): string | undefined {
  return token ? `Bearer ${token}` : undefined;
}
