import { z } from 'zod';
import { providerConfig } from '../../../shared/provider/provider-config.ts';
import { serviceApi } from '../../../shared/provider/service-api.ts';
import { defineProvider, type ProviderOptions } from '../../../shared/provider/define.ts';
import type { Condition, ServiceObject } from '../../../shared/model/kubernetes.ts';
import type { ConditionReport } from '../../../shared/status.ts';
import type { Marks } from '../../../functions/step/marks.ts';
import type { ObjectKey } from '../../../shared/model/object-key.ts';

/** What the unit tests of the functions work on. */
export const GROUP = 'db.services.example.org';
export const FINALIZER = `${GROUP}/finalizer`;
export const THEN = '2026-01-01T00:00:00Z';

export const standardKey: ObjectKey = {
  provider: 'db',
  mode: 'standard',
  cluster: 'onboarding',
  namespace: 'project-a',
  name: 'shop',
  uid: 'uid-1',
};
export const kcpKey: ObjectKey = { ...standardKey, mode: 'kcp', cluster: '2hj3kx', namespace: 'default' };
/** Another object of the same workspace. */
export const OTHER: ObjectKey = { ...kcpKey, name: 'other', uid: 'uid-2' };

export function condition(type: string, status: Condition['status'], reason: string, message = ''): Condition {
  return { type, status, reason, message, observedGeneration: 1, lastTransitionTime: THEN };
}

/** One of the provider's own. */
export const ownCondition = (over: Partial<ConditionReport> = {}): ConditionReport => ({
  type: 'Backup',
  status: 'True',
  reason: 'Done',
  message: 'm',
  ...over,
});

export function serviceObject(
  conditions: Condition[] = [],
  metadata: Partial<ServiceObject['metadata']> = {},
): ServiceObject {
  return {
    metadata: {
      name: 'shop',
      namespace: 'project-a',
      uid: 'uid-1',
      generation: 1,
      resourceVersion: '7',
      finalizers: [FINALIZER],
      ...metadata,
    },
    spec: {},
    ...(conditions.length > 0 ? { status: { conditions } } : {}),
  };
}

export const deleting = { deletionTimestamp: THEN };

/** The marks of the standard object, which nothing was installed for yet. */
export function marks(more: Partial<Marks> = {}): Marks {
  return {
    owner: standardKey,
    installed: undefined,
    uninstalled: undefined,
    snapshot: undefined,
    goneSince: undefined,
    madeByAnother: false,
    ending: false,
    holder: { metadata: { name: 'holder' } },
    resourceVersion: '1',
    ...more,
  };
}

const api = serviceApi({ group: GROUP, version: 'v1', kind: 'Db', spec: z.object({}).describe('s') });
const withKcp = providerConfig({ group: GROUP, version: 'v1', spec: z.object({}).describe('s'), kcp: true });
export const withoutKcp = providerConfig({ group: GROUP, version: 'v1', spec: z.object({}).describe('s'), kcp: false });

export const providerOptions = {
  name: 'db',
  api,
  config: withKcp,
  workloadCluster: true,
  access: { mcp: {} },
  kcp: {},
  createOrUpdate: () => Promise.resolve(),
  delete: () => Promise.resolve(),
} satisfies ProviderOptions<z.ZodObject, z.ZodObject>;

export const provider = defineProvider(providerOptions);
