import { z } from 'zod';
import { DEFAULT_WORKSPACE_TUNING, type WorkspaceTuning } from '../../shared/kcp/workspace-port.ts';
import { RuntimeError } from '../../shared/errors.ts';
import { COLD_START_LIMIT_MS } from '../../functions/tuning.ts';
import { FUNCTION_NAMES, type FunctionName } from '../../shared/events/catalogue.ts';
import { parseGoDuration } from '../../shared/model/duration.ts';
import { JOB_LOCK_MS, LEASE_MS, MAX_RUN_LIMIT_MS, RUN_LIMIT_MS } from '../../shared/tuning.ts';
import { externalKcp } from './external-kcp.ts';
import { REDIS_VARIABLES, redisProblems } from './redis-settings.ts';
import { DEFAULT_CONCURRENCY, SHORTEST_DURATION_MS } from './tuning.ts';

const duration = (fallbackMs: number, maxMs = Number.POSITIVE_INFINITY, minMs = SHORTEST_DURATION_MS) =>
  z
    .string()
    .optional()
    .transform((text, context) => {
      const ms = text === undefined || text === '' ? fallbackMs : parseGoDuration(text);
      // Whole milliseconds: Redis takes no others.
      if (ms !== undefined && ms >= minMs && ms <= maxMs) return Math.ceil(ms);
      const limit = Number.isFinite(maxMs) ? `, at most ${maxMs / 1000}s` : '';
      context.addIssue({
        code: 'custom',
        message: `expected a duration such as 30s, at least ${minMs / 1000}s${limit}`,
      });
      return z.NEVER;
    });

const text = z.string().min(1).optional();

function concurrencies(given: string, context: z.RefinementCtx): ReadonlyMap<FunctionName | '', number> {
  const parts = given.split(',').map((part) => /^\s*(?:([a-z-]+)=)?(\d{1,4})\s*$/.exec(part));
  const known = (name = ''): name is FunctionName | '' => name === '' || FUNCTION_NAMES.some((each) => each === name);
  const numbers = parts.flatMap((part) => (part && known(part[1]) ? [[part[1] ?? '', Number(part[2])] as const] : []));
  if (numbers.length === parts.length && numbers.every(([, number]) => number >= 1 && number <= 1000))
    return new Map(numbers as [FunctionName | '', number][]);
  context.addIssue({ code: 'custom', message: 'expected 1 to 1000, or such as provider-install=5,20' });
  return z.NEVER;
}

/** How many objects a function works on at once. */
export function concurrencyOf({ CONCURRENCY: given }: Environment, functionName: FunctionName): number {
  return given.get(functionName) ?? given.get('') ?? DEFAULT_CONCURRENCY;
}

/** Every environment variable that the runtime reads. */
const VARIABLES = z.object({
  /** Kubeconfig of the platform cluster; without it the in-cluster configuration. */
  KUBECONFIG: text,
  /** Set by Kubernetes in every pod: the cluster that it runs on. */
  KUBERNETES_SERVICE_HOST: text,
  KUBERNETES_SERVICE_PORT: text,
  /** For local debugging: the onboarding cluster's kubeconfig, instead of ordering access to it. */
  ONBOARDING_KUBECONFIG: text,
  /**
   * For local debugging: `true` takes the addresses of clusters from the annotation
   * `clusters.open-control-plane.io/local-access` of AccessRequests, where there is one.
   */
  LOCAL_ACCESS: z
    .enum(['true', 'false'])
    .default('false')
    .transform((value) => value === 'true'),
  ...REDIS_VARIABLES,
  /** Address of kcp in the kubeconfigs that providers get; default: that of the runtime's own kcp kubeconfig. */
  KCP_EXTERNAL_URL: z.url({ protocol: /^https$/, error: 'expected https://host[:port]' }).optional(),
  /** Authority of that address, PEM; default: that of the runtime's own kcp kubeconfig. */
  KCP_EXTERNAL_CA_FILE: text,
  /** Name in that address' certificate, where it isn't its host. */
  KCP_EXTERNAL_SERVER_NAME: z
    .string()
    .regex(/^[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?$/, 'expected a host name')
    .optional(),
  /** Life of the tokens for kcp workspaces; kcp grants ten minutes or more. */
  TOKEN_LIFE: duration(DEFAULT_WORKSPACE_TUNING.tokenLifeSeconds * 1_000, Number.POSITIVE_INFINITY, 600_000),
  /** They are renewed after this part of their life. */
  TOKEN_RENEWAL_THRESHOLD: z.coerce.number().min(0.01).max(0.95).default(DEFAULT_WORKSPACE_TUNING.renewalThreshold),
  /** A deletion that gets no access to its workspace goes on without after so long. */
  TEARDOWN_PATIENCE: duration(DEFAULT_WORKSPACE_TUNING.teardownPatienceMs),
  /** Set by the operator, as is `POD_NAME`; `POD_IP` and `POD_SERVICE_ACCOUNT_NAME` are not needed. */
  POD_NAMESPACE: z.string().min(1).default('default'),
  /** Who holds the lead among several replicas; default: the host's name. */
  POD_NAME: text,
  /** Objects that a function works on at once in this process: a number, or `provider-install=5,20` for one apart. */
  CONCURRENCY: z.string().default(String(DEFAULT_CONCURRENCY)).transform(concurrencies),
  RUN_LIMIT: duration(RUN_LIMIT_MS, MAX_RUN_LIMIT_MS),
  /** How long a request to a function that is served over HTTP may wait until the function has started. */
  COLD_START_LIMIT: duration(COLD_START_LIMIT_MS),
  LEASE_DURATION: duration(LEASE_MS),
  JOB_LOCK_DURATION: duration(JOB_LOCK_MS),
  LOG_FILE: text,
  /** Of `serve`, where Knative sets it. */
  PORT: z.coerce.number().int().min(1).max(65_535).optional(),
  SERVICE_PROVIDER_MODULE: text,
});

const EXTERNAL = ['KCP_EXTERNAL_CA_FILE', 'KCP_EXTERNAL_SERVER_NAME'] as const;

/** Their names; the README has the same. */
export const ENVIRONMENT_VARIABLES: readonly string[] = Object.keys(VARIABLES.shape);

export { redisSettings } from './redis-settings.ts';

export type Environment = z.output<typeof VARIABLES>;

/** What a command needs of the environment: `init` and `orphans` do without a queue. */
export interface EnvironmentNeeds {
  redis: boolean;
}

/**
 * Checks the whole environment at once.
 * @throws RuntimeError `INVALID_SETTINGS` naming every wrong variable and its remedy
 */
export function parseEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  needs: EnvironmentNeeds = { redis: true },
): Environment {
  const present = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const parsed = VARIABLES.safeParse(present);
  const problems = [
    ...(parsed.error?.issues ?? []).map((issue) => `${issue.path.join('.')}: ${issue.message}`),
    ...EXTERNAL.filter((each) => present[each] !== undefined && present['KCP_EXTERNAL_URL'] === undefined).map(
      (each) => `${each}: goes with KCP_EXTERNAL_URL; set that, or unset this`,
    ),
    ...(needs.redis ? redisProblems(present) : []).map(({ variable, message }) => `${variable}: ${message}`),
  ];
  if (parsed.success && problems.length === 0) return parsed.data;
  throw new RuntimeError('INVALID_SETTINGS', problems.join('; '));
}

export function workspaceTuning(env: Environment): WorkspaceTuning {
  return {
    tokenLifeSeconds: Math.ceil(env.TOKEN_LIFE / 1_000),
    renewalThreshold: env.TOKEN_RENEWAL_THRESHOLD,
    teardownPatienceMs: env.TEARDOWN_PATIENCE,
  };
}

/** What functions are told, whatever hosts them. */
export function functionSettings(env: Environment) {
  return {
    providerNamespace: env.POD_NAMESPACE,
    runLimitMs: env.RUN_LIMIT,
    kcpExternal: externalKcp(env),
    workspaceTuning: workspaceTuning(env),
    localAccess: env.LOCAL_ACCESS,
  };
}

/** How workers hold their jobs. */
export function jobSettings(env: Environment) {
  return {
    concurrency: (functionName: FunctionName) => concurrencyOf(env, functionName),
    jobLockMs: env.JOB_LOCK_DURATION,
    stalledCheckMs: Math.ceil(env.JOB_LOCK_DURATION / 3),
  };
}
