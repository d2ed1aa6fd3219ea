import { isRuntimeError, messageOf, RuntimeError } from '../../shared/errors.ts';
import { ApiError } from '../../shared/kube/api-error.ts';
import { equal } from '../../shared/model/json.ts';
import type { Condition, KubeObjectOf } from '../../shared/model/kubernetes.ts';
import { redact } from '../../shared/redact.ts';
import { type ConditionReport, mergeConditions } from '../../shared/status.ts';

export type ConfigWithStatus = KubeObjectOf<{ status?: { conditions?: Condition[] } }>;

/** Conditions of a ProviderConfig that the bridge writes; there only while it has kcp settings. */
export const CONDITION_PROVISIONED = 'Provisioned';
export const CONDITION_ENDPOINTS_READY = 'EndpointsReady';
export const CONDITION_STATUS_PROTECTED = 'StatusProtected';
const OURS: readonly string[] = [CONDITION_PROVISIONED, CONDITION_ENDPOINTS_READY, CONDITION_STATUS_PROTECTED];

export function provisioned(): ConditionReport {
  const message = 'The APIExport and its schema are in the provider workspace';
  return { type: CONDITION_PROVISIONED, status: 'True', reason: 'Provisioned', message };
}

export function notProvisioned(error: unknown): ConditionReport {
  const message = redact(messageOf(error));
  return { type: CONDITION_PROVISIONED, status: 'False', reason: reasonOf(error), message };
}

/** @param fields what somebody changes again each time that it is put right */
export function contested(exportName: string, fields: readonly string[]): ConditionReport {
  const message =
    `Somebody keeps changing APIExport ${exportName} (${fields.join(', ')}); it is left as it is for now: ` +
    'leave these to the provider';
  return { type: CONDITION_PROVISIONED, status: 'False', reason: 'Contested', message };
}

/** @param served where objects are served still, and how many workspaces have some */
export function held(served: { providerWorkspace: string }, workspaces: number): ConditionReport {
  const message =
    `spec.kcp is not in force yet: objects of ${workspaces} workspace${workspaces === 1 ? ' are' : 's are'} served at ` +
    `${served.providerWorkspace}; have them deleted, or change spec.kcp back`;
  return { type: CONDITION_PROVISIONED, status: 'False', reason: 'Held', message };
}

/** @param open why tenants can write the status of their objects; undefined when they can't */
export function statusProtected(open: string | undefined): ConditionReport {
  const type = CONDITION_STATUS_PROTECTED;
  if (open === undefined)
    return { type, status: 'True', reason: 'Protected', message: 'Tenants can not write the status of their objects' };
  return {
    type,
    status: 'False',
    reason: 'Open',
    message: redact(`Tenants can write the status of their objects: ${open}`),
  };
}

export function endpoints(count: number): ConditionReport {
  if (count === 0)
    return {
      type: CONDITION_ENDPOINTS_READY,
      status: 'False',
      reason: 'NoBindings',
      message: 'No workspace binds the APIExport yet',
    };
  const message = `Objects are followed at ${count} address${count === 1 ? '' : 'es'}`;
  return { type: CONDITION_ENDPOINTS_READY, status: 'True', reason: 'Bound', message };
}

function reasonOf(error: unknown): string {
  if (isRuntimeError(error, 'INVALID_PROVIDER')) return 'IncompatibleSchema';
  if (error instanceof RuntimeError) return error.code === 'INVALID_KUBECONFIG' ? 'InvalidKubeconfig' : 'NotReady';
  return error instanceof ApiError && error.status !== 0 ? 'Refused' : 'Unreachable';
}

/** The merge patch of `/status` that brings the conditions onto the ProviderConfig; `undefined` when nothing differs. */
export function configStatusPatch(
  config: ConfigWithStatus,
  wanted: readonly ConditionReport[],
  now: Date,
): object | undefined {
  const before = config.status?.conditions ?? [];
  const types = new Set(wanted.map(({ type }) => type));
  const kept = before.filter(({ type }) => !OURS.includes(type) || types.has(type));
  const conditions = mergeConditions(kept, wanted, config.metadata.generation ?? 0, now);
  const byType = (list: readonly Condition[]) => Object.fromEntries(list.map((each) => [each.type, each]));
  if (equal(byType(before), byType(conditions))) return undefined;
  return { metadata: { resourceVersion: config.metadata.resourceVersion }, status: { conditions } };
}
