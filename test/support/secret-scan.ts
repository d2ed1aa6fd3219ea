import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { Redis } from 'ioredis';
import { parse } from 'yaml';
import { isNotFound } from '../../shared/kube/api-error.ts';
import type { KubeClient } from '../../shared/kube/ports.ts';
import type { Secret } from '../../shared/model/access.ts';
import type { ResourceType } from '../../shared/model/kubernetes.ts';

export interface Credential {
  /** What it is, for people. */
  readonly name: string;
  readonly value: string;
}

/** A place to look at, and what is there. */
export interface Text {
  readonly place: string;
  readonly text: string;
}

export interface Finding {
  readonly place: string;
  readonly credential: string;
}

/** Of a token that is cut off somewhere, this much gives it away. */
const PIECE = 24;

/** Looks for credentials: whole, cut off, and in base64 (as in a Secret or a kubeconfig within something else). */
export function scan(texts: readonly Text[], credentials: readonly Credential[]): Finding[] {
  const needles = credentials.flatMap(({ name, value }) => needlesOf(value).map((needle) => ({ name, needle })));
  return texts.flatMap(({ place, text }) => {
    const found = new Set(needles.filter(({ needle }) => text.includes(needle)).map(({ name }) => name));
    return [...found].map((credential) => ({ place, credential }));
  });
}

function needlesOf(value: string): string[] {
  // Of a JSON web token only the signature is secret: what is before it is much the same in all of them.
  const secret = /^eyJ[\w-]+\.[\w-]+\.([\w-]+)$/.exec(value)?.[1] ?? value;
  const pieces: string[] = [];
  for (let start = 0; start === 0 || start + PIECE <= secret.length; start += PIECE)
    pieces.push(secret.slice(start, start + PIECE));
  return [...pieces, ...encoded(secret)];
}

/** A text's base64 differs by where it stands in what is encoded; the edges are left out, since they mix with others. */
function encoded(text: string): string[] {
  return [0, 1, 2].map((offset) => {
    const whole = Buffer.from('x'.repeat(offset) + text).toString('base64');
    return whole.slice(offset === 0 ? 0 : 4, Math.floor((offset + text.length) / 3) * 4);
  });
}

/** Everything that is in Redis: every key, and every value of every type. */
export async function textsInRedis(redis: Redis): Promise<Text[]> {
  const texts: Text[] = [];
  for (const key of await redis.keys('*')) {
    texts.push({ place: `key ${key}`, text: key });
    const type = await redis.type(key);
    texts.push({ place: `${type} ${key}`, text: JSON.stringify(await valueOf(redis, type, key)) ?? '' });
  }
  return texts;
}

function valueOf(redis: Redis, type: string, key: string): Promise<unknown> {
  switch (type) {
    case 'string':
      return redis.get(key);
    case 'hash':
      return redis.hgetall(key);
    case 'list':
      return redis.lrange(key, 0, -1);
    case 'set':
      return redis.smembers(key);
    case 'zset':
      return redis.zrange(key, '0', '-1');
    case 'stream':
      return redis.xrange(key, '-', '+');
    case 'none':
      return Promise.resolve(undefined); // expired meanwhile
    default:
      throw new Error(`${key} is a ${type}, which is not looked into`);
  }
}

/** Records every command that Redis is sent from now on, with its arguments. */
export async function recordTraffic(port: number): Promise<{ text(): string; clear(): void; stop(): void }> {
  let text = '';
  const socket = connect({ host: '127.0.0.1', port });
  socket.setEncoding('utf8');
  socket.on('data', (chunk: string) => (text += chunk));
  socket.on('error', () => undefined);
  socket.write('MONITOR\r\n');
  await once(socket, 'data');
  return { text: () => text, clear: () => (text = ''), stop: () => socket.destroy() };
}

export function textsInFiles(...files: string[]): Text[] {
  return files.map((file) => ({ place: file, text: readFileSync(file, 'utf8') }));
}

/** What anybody gets who asks, without any credential; not what an answer is that is none. */
export async function textsAt(...urls: string[]): Promise<Text[]> {
  return Promise.all(
    urls.map(async (place) => {
      const answer = await fetch(place);
      if (answer.status !== 200 && answer.status !== 503) throw new Error(`${place}: ${answer.status}`);
      return { place, text: await answer.text() };
    }),
  );
}

/** Every object of these types, whole. */
export async function textsInClusters(clients: readonly KubeClient[], types: readonly ResourceType[]): Promise<Text[]> {
  const lists = clients.flatMap((client) =>
    types.map(async (type) => {
      // Not every type is served by every cluster.
      const { items } = await client.list(type).catch((error: unknown) => {
        if (isNotFound(error)) return { items: [] };
        throw error;
      });
      return items.map((object) => ({
        place: `${client.server} ${type.kind} ${object.metadata.name}`,
        text: JSON.stringify(object),
      }));
    }),
  );
  return (await Promise.all(lists)).flat();
}

/** Every credential in a Secret: tokens and keys, also within a kubeconfig. */
export function credentialsIn({ metadata, data = {} }: Secret): Credential[] {
  const where = `Secret ${metadata.namespace}/${metadata.name}`;
  return Object.entries(data).flatMap(([key, base64]) => {
    const text = Buffer.from(base64, 'base64').toString('utf8');
    if (key === 'token') return [{ name: `${where} ${key}`, value: text }];
    return key === 'kubeconfig' ? credentialsInKubeconfig(where, text) : [];
  });
}

export function credentialsInKubeconfig(where: string, text: string): Credential[] {
  let config: { users?: { user?: Record<string, string> }[] };
  try {
    config = parse(text, { logLevel: 'silent' }) as typeof config;
  } catch {
    return []; // broken on purpose
  }
  const users = Array.isArray(config?.users) ? config.users : [];
  return users.flatMap(({ user = {} }) =>
    ['token', 'client-key-data']
      .filter((field) => typeof user[field] === 'string')
      .map((field) => ({ name: `${where} ${field}`, value: user[field] ?? '' })),
  );
}
