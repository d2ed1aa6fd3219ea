import { RuntimeError } from '../../shared/errors.ts';
import { done } from '../../shared/events/outcome.ts';
import { reportReady } from '../../shared/status.ts';
import { judgeAccess } from '../access/access.ts';
import { grantedAccess } from '../step/verdict.ts';
import { syncCopies } from '../copies/sync.ts';
import { writeStatus } from '../step/write-status.ts';
import { backToStart } from '../step/precondition.ts';
import { parseObject, providerContext } from '../provider-call/context.ts';
import { ReportCollector } from '../provider-call/report.ts';
import { untilStopped } from '../provider-call/until-stopped.ts';
import type { Step } from '../step/run.ts';
import { decideNextLook, markInstallStarted, mayBeHeld, mayInstall, waitForSecret } from './decide.ts';

/** Lets the provider install or update. Requires: not being deleted, ours, access granted, marked. */
export const providerInstall: Step = async (object, run) => {
  if (!mayBeHeld(object, run) || run.config.state !== 'ok') return backToStart;
  const granted = grantedAccess(await judgeAccess(run, object));
  // Only a deletion can do without the end user cluster.
  if (!granted || granted.mcp === 'gone') return backToStart;
  const marks = granted.marks ?? (await run.marks.read());
  if (!mayInstall(object, run, marks)) return backToStart;

  const parsed = parseObject(run, object);
  const mark = markInstallStarted(object);
  const written = mark ? await writeStatus(run, object, mark) : object;
  if (!written) return { outcome: done() };
  // Deleted since it was read: the mark met the newer object.
  if (!mayBeHeld(written, run)) return backToStart;
  // What is reported after the call is about the generation that was installed, whatever came since.
  const { generation } = object.metadata;
  const current = { ...written, metadata: { ...written.metadata, ...(generation ? { generation } : {}) } };
  const collector = new ReportCollector();
  const ctx = await providerContext(run, { ...granted, mcp: granted.mcp }, collector);
  const order = { ...parsed, metadata: current.metadata };
  const missing = await syncCopies(run, ctx, order);
  if (missing) return waitForSecret(current, missing);
  const call = run.provider.createOrUpdate(ctx, order);
  const result = await untilStopped(run, call);
  // Told to end, yet it returned: it may have seen refused requests as anything. Ready would be a guess.
  if (run.signal.aborted) throw new RuntimeError('STALE_HOLDER', 'the call was told to end');
  return {
    object: current,
    status: collector.report(reportReady()),
    outcome: decideNextLook(result, run.config.runtime.pollIntervalMs, granted.renewAt, run.now(), Math.random()),
  };
};
