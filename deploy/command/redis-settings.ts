import { z } from 'zod';
import {
  type RedisAddress,
  redisServer,
  type RedisSettings,
  type Renewable,
  textOf,
} from '../../shared/queue/redis-settings.ts';
import { authorityProblem, pairProblem } from '../../shared/kube/pem.ts';
import { refuse as refuseSetting, settingsFile } from './settings-file.ts';

const text = z.string().min(1).optional();

const addresses = z
  .string()
  .transform((given, context): RedisAddress[] => {
    const found = given.split(',').map((part) => /^\s*(?:\[([\da-f:.]+)\]|([\w.-]+)):(\d{1,5})\s*$/i.exec(part));
    const nodes = found.flatMap((match) =>
      match ? [{ host: (match[1] ?? match[2]) as string, port: Number(match[3]) }] : [],
    );
    if (nodes.length === found.length && nodes.every(({ port }) => port >= 1 && port <= 65_535)) return nodes;
    context.addIssue({ code: 'custom', message: 'expected host:port, or several with commas between' });
    return z.NEVER;
  })
  .optional();

/** The environment variables that say how Redis is reached. */
export const REDIS_VARIABLES = {
  REDIS_URL: text,
  REDIS_URL_FILE: text,
  REDIS_SENTINELS: addresses,
  REDIS_SENTINEL_MASTER: text,
  REDIS_SENTINEL_PASSWORD: text,
  REDIS_SENTINEL_PASSWORD_FILE: text,
  REDIS_CLUSTER_NODES: addresses,
  /** For Sentinel and Cluster, which have no address that would say so. */
  REDIS_TLS: z.enum(['true', 'false']).optional(),
  REDIS_USERNAME: text,
  REDIS_PASSWORD: text,
  REDIS_PASSWORD_FILE: text,
  REDIS_CA_FILE: text,
  REDIS_CERT_FILE: text,
  REDIS_KEY_FILE: text,
};

export type RedisEnvironment = z.output<z.ZodObject<typeof REDIS_VARIABLES>>;
type Variable = keyof RedisEnvironment;

/** Pure: what is missing, and what contradicts itself. Raw, since it is asked also where other variables are wrong. */
export function redisProblems(env: Partial<Record<Variable, unknown>>): { variable: Variable; message: string }[] {
  const problems: { variable: Variable; message: string }[] = [];
  const refuse = (variable: Variable, message: string): void => void problems.push({ variable, message });
  const has = (variable: Variable): boolean => env[variable] !== undefined;

  const url = has('REDIS_URL') ? 'REDIS_URL' : 'REDIS_URL_FILE';
  const ways = ([url, 'REDIS_SENTINELS', 'REDIS_CLUSTER_NODES'] as const).filter(has);
  if (ways.length === 0)
    refuse(
      'REDIS_URL',
      'missing; set it to redis://host:6379, or REDIS_URL_FILE to a file that holds the address, ' +
        'or REDIS_SENTINELS, or REDIS_CLUSTER_NODES',
    );
  const [first, second] = ways;
  if (first && second) refuse(second, `contradicts ${first}; unset one of them`);

  if (has('REDIS_SENTINELS') && !has('REDIS_SENTINEL_MASTER'))
    refuse('REDIS_SENTINEL_MASTER', 'missing; set it to the name by which the sentinels know the master');
  for (const each of ['REDIS_SENTINEL_MASTER', 'REDIS_SENTINEL_PASSWORD', 'REDIS_SENTINEL_PASSWORD_FILE'] as const)
    if (has(each) && !has('REDIS_SENTINELS')) refuse(each, 'goes with REDIS_SENTINELS; set that, or unset this');

  if (has('REDIS_CERT_FILE') && !has('REDIS_KEY_FILE')) refuse('REDIS_KEY_FILE', 'missing; REDIS_CERT_FILE needs it');
  if (has('REDIS_KEY_FILE') && !has('REDIS_CERT_FILE')) refuse('REDIS_CERT_FILE', 'missing; REDIS_KEY_FILE needs it');
  return problems;
}

type FileVariable = Extract<Variable, `${string}_FILE`>;

/** @throws RuntimeError `INVALID_SETTINGS` for a file that can't be read, and for what `redisServer` refuses */
export function redisSettings(env: RedisEnvironment): RedisSettings {
  const file = (variable: FileVariable): (() => string) | undefined => {
    const path = env[variable];
    return path === undefined ? undefined : renewed(path, variable);
  };
  const settings: RedisSettings = {
    url: file('REDIS_URL_FILE') ?? env.REDIS_URL,
    sentinel: env.REDIS_SENTINELS && {
      nodes: env.REDIS_SENTINELS,
      master: env.REDIS_SENTINEL_MASTER ?? '',
      password: file('REDIS_SENTINEL_PASSWORD_FILE') ?? env.REDIS_SENTINEL_PASSWORD,
    },
    cluster: env.REDIS_CLUSTER_NODES,
    tls: env.REDIS_TLS === 'true' ? true : undefined,
    username: env.REDIS_USERNAME,
    password: file('REDIS_PASSWORD_FILE') ?? env.REDIS_PASSWORD,
    ca: file('REDIS_CA_FILE'),
    cert: file('REDIS_CERT_FILE'),
    key: file('REDIS_KEY_FILE'),
  };
  redisServer(settings, env.REDIS_URL_FILE === undefined ? 'REDIS_URL' : 'REDIS_URL_FILE');
  refuseSetting('REDIS_CA_FILE', authorityProblem(read(settings.ca)));
  refuseSetting('REDIS_CERT_FILE and REDIS_KEY_FILE', pairProblem(read(settings.cert), read(settings.key)));
  return settings;
}

const read = (text: Renewable | undefined): string | undefined => (text === undefined ? undefined : textOf(text));

/** Read each time, since files of Secrets are replaced. One that can't be read or holds nothing then counts as it was. */
function renewed(path: string, variable: FileVariable): () => string {
  let last = settingsFile(path, variable).trim();
  return () => {
    try {
      last = settingsFile(path, variable).trim() || last;
    } catch {
      // In the middle of being replaced.
    }
    return last;
  };
}
