import { RuntimeError } from '../../shared/errors.ts';
import type { ManagedResource, StatusReporter } from '../../shared/provider/context.ts';
import { RESOURCE_PHASES } from '../../shared/provider/schema/fixed-schemas.ts';
import {
  type ConditionReport,
  type Phase,
  reportProgressing,
  reportReady,
  reportTerminating,
  RUNTIME_CONDITIONS,
  type StatusReport,
} from '../../shared/status.ts';

/** Collects what a provider reports during one call. */
export class ReportCollector implements StatusReporter {
  #readiness: StatusReport | undefined;
  readonly #conditions = new Map<string, ConditionReport>();
  #fields: Record<string, unknown> = {};

  progressing(reason: string, message: string): void {
    this.#readiness = reportProgressing(reason, message);
  }

  ready(message?: string): void {
    this.#readiness = message === undefined ? reportReady() : reportReady(message);
  }

  condition(condition: ConditionReport): void {
    if (RUNTIME_CONDITIONS.includes(condition.type))
      throw new RuntimeError(
        'INVALID_PROVIDER',
        `condition ${condition.type} is the runtime's; name yours differently`,
      );
    this.#conditions.set(condition.type, condition);
  }

  resources(resources: readonly ManagedResource[]): void {
    for (const { kind, name, phase } of resources)
      if (!RESOURCE_PHASES.includes(phase))
        throw new RuntimeError(
          'INVALID_PROVIDER',
          `status.resources: ${kind} ${name} has the phase ${phase}; choose one of ${RESOURCE_PHASES.join(', ')}`,
        );
    this.set({ resources });
  }

  set(fields: Record<string, unknown>): void {
    for (const name of ['phase', 'observedGeneration', 'conditions'])
      if (name in fields)
        throw new RuntimeError('INVALID_PROVIDER', `status.${name} is the runtime's; use the methods for it`);
    this.#fields = { ...this.#fields, ...fields };
  }

  /** The report with what the provider said about readiness, or else `otherwise`. */
  report(otherwise: StatusReport, phase?: Phase): StatusReport {
    const readiness = this.#readiness ?? otherwise;
    return {
      words: 'author',
      phase: phase ?? readiness.phase,
      conditions: [...readiness.conditions, ...this.#conditions.values()],
      fields: this.#fields,
    };
  }

  /** During a deletion the object is never Ready, whatever the provider says. */
  terminatingReport(): StatusReport {
    const said = this.#readiness?.conditions[0];
    const base = said && said.status === 'False' ? reportTerminating(said.reason, said.message) : reportTerminating();
    return {
      ...base,
      words: 'author',
      conditions: [...base.conditions, ...this.#conditions.values()],
      fields: this.#fields,
    };
  }
}
