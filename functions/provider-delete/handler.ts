import { RuntimeError } from '../../shared/errors.ts';
import { TEARDOWN_REQUESTED } from '../../shared/events/catalogue.ts';
import { requeueMs } from '../../shared/model/duration.ts';
import { again, done } from '../../shared/events/outcome.ts';
import { isDeleting, reportUninstalled } from '../../shared/status.ts';
import { judgeAccess } from '../access/access.ts';
import { grantedAccess } from '../step/verdict.ts';
import { markUninstalled } from '../requests/marks.ts';
import { removeCopies } from '../copies/sync.ts';
import { flowPosition } from '../step/flow.ts';
import { backToStart } from '../step/precondition.ts';
import { deleteContext } from '../provider-call/context.ts';
import { ReportCollector } from '../provider-call/report.ts';
import { untilStopped } from '../provider-call/until-stopped.ts';
import type { ServiceObjectOf } from '../../shared/provider/context.ts';
import type { Step } from '../step/run.ts';

/** Lets the provider remove what it installed, until it says that all is gone. Requires: being deleted, not Uninstalled. */
export const providerDelete: Step = async (object, run) => {
  if (!isDeleting(object) || run.config.state !== 'ok') return backToStart;
  const granted = grantedAccess(await judgeAccess(run, object));
  if (!granted) return backToStart;
  const marks = granted.marks ?? (await run.marks.read());
  // With a control plane that is gone, what held them may be gone too.
  if ((!marks && granted.mcp !== 'gone') || flowPosition(object, run, marks) !== 'delete') return backToStart;

  const collector = new ReportCollector();
  const ctx = await deleteContext(run, granted, collector);
  // Not checked against the schema: what can't be installed any more must still be removable.
  const result = await untilStopped(run, run.provider.delete(ctx, object as unknown as ServiceObjectOf<unknown>));
  // Told to end, yet it returned: "gone" would be a guess.
  if (run.signal.aborted) throw new RuntimeError('STALE_HOLDER', 'the call was told to end');
  const report = collector.terminatingReport();
  const notYetMs = requeueMs(result);
  if (notYetMs !== undefined) return { status: report, outcome: again(notYetMs, 'RequeueAfter') };
  await removeCopies(run, ctx);
  // Before the first of its access goes.
  await markUninstalled(run.marks, run.key, marks);
  return {
    status: reportUninstalled('Deleted', 'The provider has removed all', report),
    outcome: done(TEARDOWN_REQUESTED),
  };
};
