import { conceal, type Internal, type Words } from '../../shared/conceal.ts';
import { cut, MAX_ERROR_LENGTH } from '../../shared/errors.ts';
import { nameHash } from '../../shared/names.ts';
import { redact } from '../../shared/redact.ts';
import {
  type ConditionReport,
  mendedReason,
  mendedType,
  REASON_RECONCILE_ERROR,
  type StatusReport,
  type TenantReport,
} from '../../shared/status.ts';

/** Room for it is left in a message of the greatest length. */
const REFERENCE_LENGTH = 32;

/** What one invocation knows that no tenant may read, and whom it is about. */
export interface TenantView {
  readonly uid: string;
  readonly internal: Internal;
  readonly secrets: ReadonlySet<string>;
}

/** What was taken out of a text, for the operator's log: the same reference stands in what the tenant reads. */
export interface Kept {
  /** The condition's type, or `status.<field>`. */
  readonly from: string;
  readonly text: string;
  readonly reference: string | undefined;
}

/**
 * Pure: the one place through which everything passes that the runtime writes where tenants read. Credentials, addresses,
 * accounts and namespaces of the platform are taken out of messages, and out of the provider's own fields.
 */
export function forTenants(report: StatusReport, view: TenantView): { report: TenantReport; kept: Kept[] } {
  const kept: Kept[] = [];
  const words = report.words ?? 'anyone';
  const conditions = report.conditions.map((each): ConditionReport => {
    const full = redact(cut(each.message, MAX_ERROR_LENGTH - REFERENCE_LENGTH), view.secrets);
    const message = tenantText(full, view, words);
    if (message.text !== full) kept.push({ from: each.type, text: full, reference: message.reference });
    // Looked at before they are mended, which would make a credential unrecognisable.
    const type = mendedType(tenantText(each.type, view, words).text);
    const shown = tenantText(each.reason, view, words).text;
    // Whatever is a credential in it, or an address, leaves no word that means anything.
    const reason = shown === each.reason ? mendedReason(shown, { ...each, type }) : REASON_RECONCILE_ERROR;
    return { ...each, type, reason, message: message.text };
  });
  const fields =
    report.fields &&
    fieldsForTenants(report.fields, view, (from, text) => kept.push({ from, text, reference: undefined }));
  return { report: { ...report, conditions, ...(fields ? { fields } : {}) } as TenantReport, kept };
}

/**
 * Pure: a text as a tenant reads it. Where something is missing in it, it ends in a reference that the operator finds in
 * the log; of the same text it is always the same, so that nothing is written again.
 */
export function tenantText(text: string, view: TenantView, words: Words): { text: string; reference?: string } {
  const concealed = conceal(redact(text, view.secrets), view.internal, words);
  return concealed.hidden ? withReference(concealed.text, view) : { text: concealed.text };
}

export function withReference(text: string, { uid }: TenantView): { text: string; reference: string } {
  const reference = nameHash(uid, text);
  return { text: `${text} (reference ${reference})`, reference };
}

function fieldsForTenants(
  fields: Record<string, unknown>,
  view: TenantView,
  keep: (from: string, text: string) => void,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      valueForTenants(value, view, (text) => keep(`status.${name}`, text)),
    ]),
  );
}

/** Pure: whatever an author says to tenants, names of fields included. @param keep is told each text that was changed */
export function valueForTenants(value: unknown, view: TenantView, keep: (text: string) => void): unknown {
  const textOf = (text: string): string => {
    const full = redact(text, view.secrets);
    const shown = conceal(full, view.internal, 'author').text;
    if (shown !== full) keep(cut(full));
    return shown;
  };
  const valueOf = (one: unknown): unknown => {
    if (typeof one === 'string') return textOf(one);
    if (Array.isArray(one)) return one.map(valueOf);
    if (typeof one !== 'object' || one === null) return one;
    return Object.fromEntries(Object.entries(one).map(([name, each]) => [textOf(name), valueOf(each)]));
  };
  return valueOf(asJson(value));
}

/** As the server will store it: a Date becomes a text, and so on. */
function asJson(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}
