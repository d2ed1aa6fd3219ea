import { RuntimeError } from '../../shared/errors.ts';
import type { WorkspacePort } from '../../shared/kcp/workspace-port.ts';
import { WORKSPACE_REQUEST_MS } from '../../shared/tuning.ts';
import type { Run } from '../step/run.ts';

/** Answers that come, but late, would hold the worker's place as well: after a while nothing more is asked. */
export function withinLimit(workspace: WorkspacePort, run: Run): WorkspacePort {
  const end = performance.now() + WORKSPACE_REQUEST_MS;
  const guard = (): void => {
    run.guard();
    if (performance.now() < end) return;
    const message = 'The workspace answers too slowly; look at the admission webhooks there';
    throw new RuntimeError('NOT_READY', message);
  };
  return { ...workspace, virtual: workspace.virtual.fenced(guard) };
}
