import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ApiExport } from '../../../../bridge/kcp/decide-provision.ts';
import { provisionExport } from '../../../../bridge/kcp/provision.ts';
import { API_EXPORTS, API_RESOURCE_SCHEMAS } from '../../../../shared/kube/resources.ts';
import { MemoryCluster } from '../../../support/memory-cluster.ts';
import { EXPORT, sizes, SPEC } from '../../../support/providers/sizes.ts';

const log = pino({ level: 'silent' });
const TIGHTER = sizes({ spec: SPEC.extend({ nodes: z.int32().min(2).optional() }) });

let workspace: MemoryCluster;
const provision = (provider = sizes()) => provisionExport(workspace.client, provider, log);
const exported = async () => (await workspace.get<ApiExport>(API_EXPORTS, EXPORT)) as ApiExport;
const schemas = async () => (await workspace.list(API_RESOURCE_SCHEMAS)).items.map(({ metadata }) => metadata.name);
const nameOf = (provider = sizes()): string => provider.api.apiResourceSchema().metadata.name;

beforeEach(async () => {
  workspace = new MemoryCluster();
  await provision();
});

describe('a schema that is tighter than the one that tenants have', () => {
  test('is not put in force, and is not even made', async () => {
    const before = await exported();
    expect(await provision(TIGHTER)).toMatchObject({
      mended: [],
      refused: {
        schema: nameOf(),
        why: { message: expect.stringContaining('v1.spec.nodes: minimum was 1, is now 2') as string },
      },
    });
    expect(await exported()).toEqual(before);
    expect(await schemas()).toEqual([nameOf()]);
  });

  test('is no reason to leave anything else as it is', async () => {
    const before = await exported();
    workspace.put(API_EXPORTS, { ...before, spec: { ...before.spec, permissionClaims: [] } } as ApiExport);
    expect(await provision(TIGHTER)).toMatchObject({ mended: ['spec.permissionClaims'] });
    expect((await exported()).spec).toEqual(before.spec);
  });

  test('is put in force where somebody insists', async () => {
    const before = await exported();
    workspace.put(API_EXPORTS, { ...before, spec: { ...before.spec, resources: [] } } as ApiExport);
    expect(await provision(TIGHTER)).toMatchObject({ refused: undefined });
    expect((await exported()).spec?.resources?.map(({ schema }) => schema)).toEqual([nameOf(TIGHTER)]);
  });
});

test('a second name for the kind that is exported is refused, naming the first, before anything is written', async () => {
  const before = structuredClone([...workspace.objects]);
  await expect(provision(sizes({ plural: 'sizen' }))).rejects.toMatchObject({
    code: 'INVALID_PROVIDER',
    message: expect.stringContaining("set plural: 'sizes' in the provider") as string,
  });
  expect([...workspace.objects]).toEqual(before);
});
