import { displayKey } from '../../shared/model/object-key.ts';
import { redact } from '../../shared/redact.ts';
import { type OrphanFinding, orphansOf } from '../../functions/orphans/orphans.ts';
import { presencePorts } from './presence-ports.ts';
import { type CommonOptions, setUp } from './setup.ts';

export interface OrphansOptions extends CommonOptions {
  delete: boolean;
}

/** `service-provider orphans [--delete]`: a line for each thing that is not in use; fails where one could not be judged. */
export async function orphans(options: OrphansOptions): Promise<void> {
  const setup = await setUp(options, { redis: false });
  const counts = { 'in-use': 0, orphan: 0, unknown: 0, kept: 0 };
  for await (const finding of orphansOf(setup.platform, setup.provider, presencePorts(setup), options.delete)) {
    counts[finding.verdict.verdict] += 1;
    if (finding.removal?.removed === false) counts.kept += 1;
    if (finding.verdict.verdict !== 'in-use') process.stdout.write(`${redact(line(finding))}\n`);
  }
  const { orphan, unknown, kept } = counts;
  process.stdout.write(
    `${orphan} orphans${options.delete ? `, ${orphan - kept} deleted` : ''}, ${counts['in-use']} in use, ${unknown} could not be judged\n`,
  );
  if (unknown + kept > 0) process.exitCode = 1;
}

function line({ owned, verdict, removal }: OrphanFinding): string {
  const { namespace, name } = owned.object.metadata;
  const what = `${owned.type.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
  const whose = owned.key ? ` of ${displayKey(owned.key)}` : '';
  if (verdict.verdict === 'unknown') return `unknown  ${what}${whose}: ${verdict.why}`;
  if (!removal) return `orphan   ${what}${whose}`;
  return removal.removed ? `deleted  ${what}${whose}` : `kept     ${what}${whose}: ${removal.why}`;
}
