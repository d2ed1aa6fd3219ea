import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { selfSignedCertificate } from '../../../../deploy/command/self-signed.ts';
import { onboardingRequestName, orderOnboardingAccess } from '../../../../functions/access/onboarding.ts';
import type { HttpKubeClient } from '../../../../shared/kube/client.ts';
import { formatKubeconfig } from '../../../../shared/kube/kubeconfig.ts';
import type { KubeClient } from '../../../../shared/kube/ports.ts';
import { ACCESS_REQUESTS, CLUSTER_REQUESTS, CONFIG_MAPS, SECRETS } from '../../../../shared/kube/resources.ts';
import type { KubeObject, ResourceType } from '../../../../shared/model/kubernetes.ts';
import { provider } from '../objects.ts';

const NAMESPACE = 'service-provider';
const NAME = onboardingRequestName(provider, 'run');

/** The platform cluster, and who answers requests there. */
class Platform {
  readonly #objects = new Map<string, KubeObject>();
  created: string[] = [];

  readonly client = {
    get: (type: ResourceType, name: string) =>
      Promise.resolve(structuredClone(this.#objects.get(`${type.plural}/${name}`))),
    create: (type: ResourceType, object: KubeObject) => {
      this.created.push(type.plural);
      this.put(type, { ...object, metadata: { ...object.metadata, generation: 1 } });
      return this.client.get(type, object.metadata.name);
    },
  } as unknown as KubeClient;

  put(type: ResourceType, object: KubeObject): void {
    this.#objects.set(`${type.plural}/${object.metadata.name}`, object);
  }

  remove(type: ResourceType, name: string): void {
    this.#objects.delete(`${type.plural}/${name}`);
  }

  has(type: ResourceType): boolean {
    return this.#objects.has(`${type.plural}/${NAME}`);
  }

  async grant(secret: string, server: ClusterAt, token: string): Promise<void> {
    const status = { phase: 'Granted', observedGeneration: 1 };
    for (const [type, more] of [
      [CLUSTER_REQUESTS, {}],
      [ACCESS_REQUESTS, { secretRef: { name: secret } }],
    ] as const) {
      await vi.waitUntil(() => this.has(type));
      const object = await this.client.get(type, NAME);
      this.put(type, { ...(object as KubeObject), status: { ...status, ...more } } as KubeObject);
    }
    const kubeconfig = formatKubeconfig({ server: server.url, ca: server.ca, token });
    this.put(SECRETS, {
      metadata: { name: secret, namespace: NAMESPACE },
      data: { kubeconfig: Buffer.from(kubeconfig).toString('base64') },
    } as KubeObject);
  }
}

/** An onboarding cluster that takes one token. */
class ClusterAt {
  readonly #server: Server;
  readonly ca: string;
  accepted: string;

  private constructor(accepted: string) {
    const pair = selfSignedCertificate('onboarding');
    this.ca = pair.cert;
    this.accepted = accepted;
    this.#server = createServer(pair, ({ headers }, reply) => {
      const known = headers.authorization === `Bearer ${this.accepted}`;
      reply.writeHead(known ? 200 : 401).end(JSON.stringify({ metadata: {}, items: [] }));
    });
  }

  static async start(accepted: string): Promise<ClusterAt> {
    const cluster = new ClusterAt(accepted);
    await new Promise<void>((resolve) => cluster.#server.listen(0, '127.0.0.1', resolve));
    return cluster;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

let platform: Platform;
let clusters: ClusterAt[];
let client: HttpKubeClient;
const stopping = new AbortController();

const cluster = async (accepted: string): Promise<ClusterAt> => {
  const started = await ClusterAt.start(accepted);
  clusters.push(started);
  return started;
};
const ask = (): Promise<string> =>
  client.list(CONFIG_MAPS).then(
    () => 'ok',
    (error: Error) => error.message,
  );
/** Asked again and again, as a process does, each time a second later. @returns the last answer */
async function within(seconds: number): Promise<string> {
  const end = Date.now() + seconds * 1_000;
  let last = '';
  const again = async (): Promise<void> => {
    if (Date.now() >= end) return;
    vi.advanceTimersByTime(1_000);
    last = await ask();
    if (last !== 'ok') throw new Error(last);
  };
  await vi.waitFor(again, { timeout: 4_000, interval: 5 });
  return last;
}

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: Date.now() });
  clusters = [];
  platform = new Platform();
  const ordered = orderOnboardingAccess(
    platform.client,
    provider,
    'run',
    NAMESPACE,
    pino({ level: 'silent' }),
    stopping.signal,
  );
  await platform.grant('first', await cluster('one'), 'one');
  client = await ordered;
  await ask();
});

afterEach(() => {
  vi.useRealTimers();
  for (const each of clusters) each.stop();
});

describe('goes on within two minutes, without a restart, where the access', () => {
  test('is granted anew with another Secret, while the old token is revoked', async () => {
    platform.remove(SECRETS, 'first');
    await platform.grant('second', clusters[0] as ClusterAt, 'two');
    (clusters[0] as ClusterAt).accepted = 'two';
    expect(await within(120)).toBe('ok');
  });

  test('is granted anew for another server with another authority', async () => {
    await platform.grant('second', await cluster('two'), 'two');
    (clusters[0] as ClusterAt).stop();
    expect(await within(120)).toBe('ok');
  });

  test('is deleted: it is ordered again, and used when it is granted', async () => {
    platform.created = [];
    platform.remove(ACCESS_REQUESTS, NAME);
    platform.remove(SECRETS, 'first');
    (clusters[0] as ClusterAt).accepted = 'two';
    expect(await ask()).toMatch(/401/);
    await vi.waitFor(() => expect(platform.has(ACCESS_REQUESTS)).toBe(true));
    await platform.grant('second', clusters[0] as ClusterAt, 'two');
    expect(await within(120)).toBe('ok');
    expect(platform.created).toEqual(['accessrequests']);
  });

  test('is deleted with its cluster', async () => {
    platform.remove(ACCESS_REQUESTS, NAME);
    platform.remove(CLUSTER_REQUESTS, NAME);
    (clusters[0] as ClusterAt).stop();
    expect(await ask()).not.toBe('ok');
    const elsewhere = await cluster('two');
    // Nobody is told: it is found at a look.
    await vi.waitUntil(async () => {
      vi.advanceTimersByTime(11_000);
      await ask();
      return platform.has(CLUSTER_REQUESTS);
    });
    const granted = platform.grant('second', elsewhere, 'two');
    await vi.waitUntil(async () => {
      vi.advanceTimersByTime(11_000);
      await ask();
      return platform.has(ACCESS_REQUESTS);
    });
    await granted;
    expect(await within(120)).toBe('ok');
  });
});

test('what is granted stays in use while the platform cluster does not answer', async () => {
  platform.client.get = () => Promise.reject(new Error('no answer'));
  for (let minute = 0; minute < 5; minute++) {
    vi.advanceTimersByTime(61_000);
    expect(await ask()).toBe('ok');
  }
});
