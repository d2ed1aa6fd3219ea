import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { LOCAL_ACCESS_ANNOTATION } from '../../functions/access/decide-local-access.ts';
import { serviceApi } from '../../shared/provider/service-api.ts';
import { defineProvider } from '../../shared/provider/define.ts';
import { parseKubeconfig } from '../../shared/kube/kubeconfig.ts';
import { ACCESS_REQUESTS, CLUSTERS, CONFIG_MAPS } from '../../shared/kube/resources.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { createStage, PROJECT, type Stage } from '../support/stage.ts';

/** The runtime runs outside of the clusters' network, and reaches them by other addresses than a kubeconfig says. */

interface Call {
  value: string;
  client: string;
  embedded: { mcp: string; workload: string | undefined };
}
const calls: Call[] = [];
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];
const serverIn = (kubeconfig: string) => parseKubeconfig(kubeconfig, 'test').server;

const near = defineProvider({
  name: 'near',
  api: serviceApi({
    group: 'near.services.open-control-plane.io',
    version: 'v1alpha1',
    kind: 'Near',
    spec: z.object({ foo: z.string() }),
  }),
  workloadCluster: true,
  access: { mcp: { permissions: [{ rules }] }, workload: { permissions: [{ rules }] } },
  async createOrUpdate({ mcp, workload }, { spec }) {
    for (const cluster of [mcp, workload]) await cluster?.client.list(CONFIG_MAPS);
    calls.push({
      value: spec.foo,
      client: mcp.client.server,
      embedded: { mcp: serverIn(mcp.kubeconfig), workload: workload ? serverIn(workload.kubeconfig) : undefined },
    });
  },
  delete: () => Promise.resolve(),
});

let stage: Stage;
let controlPlane: ControlPlane;
let forwarder: Server;
let connections = 0;

beforeAll(async () => {
  stage = await createStage({ provider: near });
  controlPlane = await stage.landscape.createControlPlane(PROJECT, 'cp');
  const { hostname: host, port } = new URL(controlPlane.client.server);
  forwarder = createServer((socket) => {
    connections += 1;
    const onwards = connect(Number(port), host);
    socket.pipe(onwards).pipe(socket);
    for (const end of [socket, onwards]) end.on('error', () => [socket, onwards].forEach((one) => one.destroy()));
  });
  await new Promise<void>((resolve) => forwarder.listen(0, '127.0.0.1', resolve));
});

afterAll(async () => {
  await stage?.stop();
  forwarder?.close();
});

async function installed(value: string): Promise<Call> {
  await stage.orders.untilReady('cp');
  return calls.findLast((call) => call.value === value) as Call;
}

test('addresses come from the requests for debugging alone, and what runs elsewhere gets the internal one', async () => {
  const { platform } = stage.landscape;
  const real = controlPlane.client.server;
  const run = await stage.run();
  await stage.orders.create('cp', 'usual');
  expect(await installed('usual')).toMatchObject({ client: real, embedded: { mcp: real } });

  const namespace = controlPlane.platformNamespace;
  const local = real.replace(new URL(real).port, String((forwarder.address() as AddressInfo).port));
  const metadata = { annotations: { [LOCAL_ACCESS_ANNOTATION]: local } };
  await platform.client.mergePatch(ACCESS_REQUESTS, 'near--cp--mcp', { metadata }, { namespace });
  await stage.orders.change('cp', 'annotated');
  expect(await installed('annotated')).toMatchObject({ client: real, embedded: { mcp: real } });
  expect(connections).toBe(0);

  await run.stop();
  await stage.run({ localAccess: true });
  await stage.orders.change('cp', 'outside');
  const outside = await installed('outside');
  expect(outside).toMatchObject({ client: local, embedded: { mcp: real } });
  expect(connections).toBeGreaterThan(0);
  // Without an annotation, as the kubeconfig says.
  expect(outside.embedded.workload).not.toContain(new URL(local).port);

  const { name, namespace: clusters } = controlPlane.cluster;
  const internal = 'https://10.0.0.7:6443';
  const endpoints = [{ name: 'apiserver-internal', url: internal }];
  await platform.client.mergePatch(
    CLUSTERS,
    name,
    { status: { endpoints } },
    { namespace: clusters, subresource: 'status' },
  );
  await stage.orders.change('cp', 'internal');
  expect(await installed('internal')).toMatchObject({ client: local, embedded: { mcp: internal } });
});
