import { createHash } from 'node:crypto';
import { clientFor } from './connect.ts';
import type { HttpKubeClient } from './client.ts';
import type { ClusterCredentials } from './kubeconfig.ts';
import { MAX_CLIENTS } from '../tuning.ts';

/**
 * Clients by their credentials, so that connections are reused. New credentials are a new entry: a rotated token is
 * never confused with the one before.
 */
export class ClientCache {
  readonly #clients = new Map<string, HttpKubeClient>();

  clientFor(credentials: ClusterCredentials): HttpKubeClient {
    const id = createHash('sha256').update(JSON.stringify(credentials)).digest('base64');
    let client = this.#clients.get(id);
    // Most recently used last.
    if (client) this.#clients.delete(id);
    else client = clientFor(credentials);
    this.#clients.set(id, client);
    if (this.#clients.size > MAX_CLIENTS) {
      const [oldest] = this.#clients.keys();
      if (oldest !== undefined) this.#clients.delete(oldest);
    }
    return client;
  }
}
