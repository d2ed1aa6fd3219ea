import { HttpKubeClient } from './client.ts';
import type { ClusterCredentials } from './kubeconfig.ts';
import { followingClient } from './following.ts';
import { Pauses } from './pauses.ts';
import { agentFor, type TlsSettings } from './transport.ts';

function tlsOf(credentials: ClusterCredentials): TlsSettings {
  const { ca, clientCertificate: cert, clientKey: key, tlsServerName: servername, insecure } = credentials;
  return { ca, cert, key, servername, rejectUnauthorized: insecure ? false : undefined };
}

/** A client for credentials that are plain data. */
export function clientFor(credentials: ClusterCredentials): HttpKubeClient {
  return new HttpKubeClient(credentials.server, {
    dispatcher: agentFor(tlsOf(credentials)),
    pauses: new Pauses(),
    authorization: () => Promise.resolve(bearer(credentials)),
  });
}

/** A client for credentials that are replaced from time to time, or granted anew: see {@link followingClient}. */
export function clientForRotating(read: () => Promise<ClusterCredentials>): Promise<HttpKubeClient> {
  return followingClient(async () => {
    const credentials = await read();
    return { server: credentials.server, tls: tlsOf(credentials), authorization: bearer(credentials) };
  });
}

function bearer({ token }: ClusterCredentials): string | undefined {
  return token ? `Bearer ${token}` : undefined;
}
