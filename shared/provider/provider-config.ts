import { z } from 'zod';
import { RuntimeError } from '../errors.ts';
import { parseGoDuration } from '../model/duration.ts';
import { crdOf, resourceTypeOf } from './schema/crd.ts';
import { CONDITIONS, TYPE_META } from './schema/fixed-schemas.ts';
import { schemaOf } from './schema/schema-of.ts';
import type { JsonSchema } from './schema/structural.ts';
import type { ProviderConfigApi, RuntimeConfig } from './types.ts';

export interface ProviderConfigOptions<Config extends z.ZodObject> {
  /** The group of the Service API, usually. */
  group: string;
  version: string;
  /** Default `ProviderConfig`. */
  kind?: string;
  plural?: string;
  /** The provider's own fields. */
  spec: Config;
  /** Whether platform operators can configure kcp (`spec.kcp`). */
  kcp: boolean;
  /** Default of `spec.pollInterval`, a duration such as `1m`; none: the regular look at all objects is all. */
  pollInterval?: string;
}

const DNS_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
/** It becomes part of an address, so nothing else than names and colons may be in it. */
const WORKSPACE_PATH = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(:[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const KCP_SETTINGS = z
  .object({
    providerWorkspace: z
      .string()
      .max(1024)
      .regex(WORKSPACE_PATH, 'expected the path of a workspace, such as root:org:services')
      .describe('Path of the workspace that holds the APIExport, such as root:org:services.'),
    kubeconfigSecret: z
      .object({
        name: z.string().max(253).regex(DNS_NAME, 'expected the name of a Secret'),
        namespace: z.string().max(63).regex(DNS_LABEL, 'expected the name of a namespace'),
      })
      .describe('Secret on the platform cluster; its key kubeconfig gives access to the provider workspace.'),
    identityHashes: z
      .record(
        z.string(),
        z
          .string()
          .max(64)
          .regex(/^[a-z0-9]+$/, 'expected status.identityHash of an APIExport'),
      )
      .meta({
        maxProperties: 100,
        'x-kubernetes-validations': [
          { rule: 'self.all(name, size(name) <= 317)', message: 'expected names such as widgets.example.org' },
        ],
      })
      .optional()
      .describe(
        "By <resource>.<group> of a permission claim on a type of another APIExport: that one's status.identityHash.",
      ),
  })
  .describe('Offers the service in kcp workspaces as well.');

const pollIntervalSchema = (preset: string | undefined): JsonSchema => ({
  type: 'string',
  // As in the Go runtime's CRD. Kubernetes refuses garbage by it, but accepts a little more than Go durations (`1 day`).
  format: 'duration',
  description: 'How often a Ready object is looked at again, such as 1m or 1h30m; 0s for never.',
  ...(preset === undefined ? {} : { default: preset }),
});

/**
 * Declares the provider's configuration: a cluster-scoped type on the platform cluster with the author's fields and
 * those of the runtime, `pollInterval` (unless the author declares it himself) and, if asked for, `kcp`.
 * @throws RuntimeError `INVALID_PROVIDER` naming the field and the remedy
 */
export function providerConfig<Config extends z.ZodObject>(
  options: ProviderConfigOptions<Config>,
): ProviderConfigApi<Config> {
  const { group, version, kind = 'ProviderConfig', plural, spec, kcp, pollInterval } = options;
  const type = resourceTypeOf({ group, version, kind, plural }, false);
  const ownPollInterval = 'pollInterval' in spec.shape;
  if ('kcp' in spec.shape) fail('spec.kcp: the runtime owns this field; rename it, or set kcp: true');
  if (pollInterval !== undefined && ownPollInterval)
    fail('spec.pollInterval has a schema of its own; give the default there');
  if (pollInterval !== undefined && !((parseGoDuration(pollInterval) ?? -1) >= 0))
    fail(`pollInterval ${pollInterval}: expected a duration such as 1m`);

  const own = schemaOf(spec, 'spec');
  const schema: JsonSchema = {
    type: 'object',
    description: `${kind} configures the provider; written by platform operators.`,
    properties: {
      ...TYPE_META,
      spec: {
        ...own,
        properties: {
          ...(own['properties'] as Record<string, JsonSchema>),
          ...(ownPollInterval ? {} : { pollInterval: pollIntervalSchema(pollInterval) }),
          ...(kcp ? { kcp: schemaOf(KCP_SETTINGS, 'spec.kcp') } : {}),
        },
      },
      status: { type: 'object', properties: { conditions: CONDITIONS } },
    },
    required: ['spec'],
  };
  const crd = crdOf({ type, cluster: 'platform', schema });
  return {
    type,
    spec,
    kcp,
    crd: () => structuredClone(crd),
    parse(object) {
      const invalid = (problem: string): never => {
        throw new RuntimeError('INVALID_PROVIDER_CONFIG', `${kind} ${object.metadata.name}: ${problem}`);
      };
      const { pollInterval: ownOrRuntimes, kcp: kcpFields, ...rest } = asRecord(object.spec, invalid);
      const config = checked(spec, ownPollInterval ? { ...rest, pollInterval: ownOrRuntimes } : rest, 'spec', invalid);
      const interval = ownPollInterval
        ? (config as Record<string, unknown>)['pollInterval']
        : (ownOrRuntimes ?? pollInterval);
      const runtime: RuntimeConfig = {
        pollIntervalMs: intervalMs(interval, invalid),
        kcp: kcp && kcpFields != null ? checked(KCP_SETTINGS, kcpFields, 'spec.kcp', invalid) : undefined,
      };
      return { config, runtime };
    },
  };
}

function fail(problem: string): never {
  throw new RuntimeError('INVALID_PROVIDER', `ProviderConfig ${problem}`);
}

type Invalid = (problem: string) => never;

function asRecord(spec: unknown, invalid: Invalid): Record<string, unknown> {
  if (spec === undefined || spec === null) return {};
  if (typeof spec !== 'object' || Array.isArray(spec)) return invalid('spec: expected an object');
  return { ...spec };
}

function checked<Type extends z.ZodType>(type: Type, value: unknown, path: string, invalid: Invalid): z.output<Type> {
  const parsed = type.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => `${[path, ...issue.path.map(String)].join('.')}: ${issue.message}`);
  return invalid(`${issues.join('; ')}; correct it on the platform cluster`);
}

function intervalMs(value: unknown, invalid: Invalid): number | undefined {
  if (value === undefined || value === null) return undefined;
  const milliseconds = typeof value === 'string' ? parseGoDuration(value) : undefined;
  if (milliseconds === undefined || !Number.isFinite(milliseconds) || milliseconds < 0)
    return invalid('spec.pollInterval: expected a duration such as 30s, 1m or 1h30m');
  // As in the Go runtime, nought means never.
  return milliseconds === 0 ? undefined : Math.ceil(milliseconds);
}
