import { expect, test } from 'vitest';
import type { KubeClient } from '../../../../shared/kube/ports.ts';
import { CONFIG_MAPS } from '../../../../shared/kube/resources.ts';
import { requeueMs } from '../../../../shared/model/duration.ts';
import { blockDeletion } from '../../../../shared/provider/block-deletion.ts';
import type { StatusReporter } from '../../../../shared/provider/context.ts';

const client = { list: () => Promise.resolve({ items: [{ metadata: { name: 'left' } }] }) } as unknown as KubeClient;
const status = { condition: () => undefined, progressing: () => undefined } as unknown as StatusReporter;

test.each([['0s'], [0], ['10s'], [undefined]])(
  'while something is left, the answer never says that all is gone (asked again after %s)',
  async (after) => {
    const options = { kinds: [CONFIG_MAPS], ...(after === undefined ? {} : { requeueAfter: after }) };
    const blocked = await blockDeletion({ mcp: { client }, status }, options);
    expect(requeueMs(blocked)).toBeGreaterThan(0);
  },
);
