import { setTimeout as sleep } from 'node:timers/promises';
import foo from '../../functions/providers/foo/provider.ts';
import { z } from 'zod';
import { defineProvider } from '../../shared/provider/define.ts';
import { providerConfig } from '../../shared/provider/provider-config.ts';

/** How long an installation takes that only waits, as for an answer of somebody else's API. */
export const INSTALL_MS = 200;

/** Foo's API without anything to install: what is left is the runtime's own work. */
export default defineProvider({
  name: foo.name,
  api: foo.api,
  config: providerConfig({ group: foo.api.type.group, version: 'v1alpha1', spec: z.object({}), kcp: false }),
  workloadCluster: false,
  access: { mcp: {} },
  async createOrUpdate(ctx) {
    await sleep(INSTALL_MS, undefined, { signal: ctx.signal });
  },
  delete: () => Promise.resolve(),
});
