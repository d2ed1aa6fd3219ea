import { RuntimeError } from '../../shared/errors.ts';
import type { ManagedResource, StatusReporter } from '../../shared/provider/context.ts';
import { RESOURCE_PHASES } from '../../shared/provider/schema/fixed-schemas.ts';
import {
  type ConditionReport,
  mendedType,
  type Phase,
  reportProgressing,
  reportReady,
  reportTerminating,
  RUNTIME_CONDITIONS,
  type StatusReport,
} from '../../shared/status.ts';

const STATUSES: readonly string[] = ['True', 'False', 'Unknown'];

/** What the API server would refuse, and the whole status with it, is an error where it is said. */
function invalid(problem: string, remedy: string): never {
  throw new RuntimeError('INVALID_PROVIDER', `${problem}; ${remedy}`);
}

function checkTexts(what: string, texts: Record<string, unknown>, between = ': '): void {
  for (const [name, text] of Object.entries(texts))
    if (typeof text !== 'string') invalid(`${what}${between}${name} is ${String(text)}`, 'it has to be a text');
}

/** Collects what a provider reports during one call. */
export class ReportCollector implements StatusReporter {
  #readiness: StatusReport | undefined;
  readonly #conditions = new Map<string, ConditionReport>();
  #fields: Record<string, unknown> = {};

  progressing(reason: string, message: string): void {
    checkTexts('progressing', { reason, message });
    this.#readiness = reportProgressing(reason, message);
  }

  ready(message?: string): void {
    if (message !== undefined) checkTexts('ready', { message });
    this.#readiness = message === undefined ? reportReady() : reportReady(message);
  }

  condition(condition: ConditionReport): void {
    const { type, status, reason, message } = condition;
    if (typeof type !== 'string' || type === '') invalid('condition: its type is empty', 'name it in CamelCase');
    const shown = mendedType(type);
    if (shown === '') invalid(`condition ${type}: its type has no letter`, 'name it in CamelCase');
    if (RUNTIME_CONDITIONS.includes(shown)) invalid(`condition ${shown} is the runtime's`, 'name yours differently');
    if (!STATUSES.includes(status)) invalid(`condition ${type}: status is ${status}`, 'use True, False or Unknown');
    checkTexts(`condition ${type}`, { reason, message });
    // Later it is mended: what must not be seen by tenants is looked for in it as it is.
    for (const before of this.#conditions.keys()) if (mendedType(before) === shown) this.#conditions.delete(before);
    this.#conditions.set(type, { type, status, reason, message });
  }

  resources(resources: readonly ManagedResource[]): void {
    for (const [index, resource] of resources.entries()) {
      const { kind, name, phase, apiGroup, namespace, message } = resource;
      const more = Object.entries({ apiGroup, namespace, message });
      const optional = Object.fromEntries(more.filter(([, value]) => value !== undefined));
      checkTexts(`status.resources[${index}].`, { kind, name, ...optional }, '');
      if (!RESOURCE_PHASES.includes(phase))
        invalid(
          `status.resources: ${kind} ${name} has the phase ${phase}`,
          `choose one of ${RESOURCE_PHASES.join(', ')}`,
        );
    }
    this.set({ resources });
  }

  set(fields: Record<string, unknown>): void {
    for (const name of ['phase', 'observedGeneration', 'conditions'])
      if (name in fields) invalid(`status.${name} is the runtime's`, 'use the methods for it');
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
