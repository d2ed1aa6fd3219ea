import type { Condition } from '../../../shared/model/kubernetes.ts';

export function condition(type: string, status: Condition['status'], reason: string, message: string): Condition {
  return { type, status, reason, message, lastTransitionTime: new Date().toISOString().replace(/\.\d+/, '') };
}
