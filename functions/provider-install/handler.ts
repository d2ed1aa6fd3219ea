import type { ServiceObject } from '../../shared/model/kubernetes.ts';
import { done } from '../../shared/model/outcome.ts';
import { reportReady } from '../../shared/status.ts';
import { judgeAccess } from '../access/access.ts';
import { grantedAccess } from '../access/verdict.ts';
import { writeStatus } from '../invoke.ts';
import { backToStart } from '../precondition.ts';
import { parseObject, providerContext, ReportCollector } from '../provider-call.ts';
import type { Step } from '../run.ts';
import { decideNextLook, markInstallStarted, mayInstall } from './decide.ts';

/** Lets the provider install or update. Requires: not being deleted, ours, access granted. */
export const providerInstall: Step = async (object, run) => {
  if (!mayInstall(object, run.provider.finalizer) || run.config.state !== 'ok') return backToStart;
  const granted = grantedAccess(await judgeAccess(run, object));
  if (!granted) return backToStart;

  const parsed = parseObject(run, object);
  const mark = markInstallStarted(object);
  const current: ServiceObject = mark ? await writeStatus(run, object, mark) : object;
  const collector = new ReportCollector();
  const ctx = await providerContext(run, granted, collector);
  try {
    const result = await run.provider.createOrUpdate(ctx, { ...parsed, metadata: current.metadata });
    // Being deleted: who waits for the object goes on from here, and Ready would be a lie.
    if (run.signal.aborted) return { outcome: done() };
    // The object was read before the call: what it reports is about that generation.
    return {
      status: collector.report(reportReady()),
      outcome: decideNextLook(result, run.config.runtime.pollIntervalMs, granted.renewAt, run.now()),
    };
  } catch (error) {
    if (run.signal.aborted && run.signal.reason === 'ObjectDeleted') return { outcome: done() };
    throw error;
  }
};
