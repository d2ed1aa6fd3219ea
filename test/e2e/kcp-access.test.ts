import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_UPKEEP } from '../../bridge/tuning.ts';
import type { RunningRuntime } from '../../deploy/command/compose.ts';
import { CONFIG_MAPS, NAMESPACES, ROLE_BINDINGS, SECRETS, SERVICE_ACCOUNTS } from '../../shared/kube/resources.ts';
import type { Secret } from '../../shared/model/access.ts';
import { conditionOf } from '../../shared/status.ts';
import { allowed, refused } from '../support/calls.ts';
import { KcpTenants } from '../support/kcp-tenants.ts';
import { agentName, agents, type EmbeddedAccess, embeddedAccess } from '../support/providers/agents.ts';
import { createStage, type Stage } from '../support/stage.ts';
import { eventually } from '../support/wait.ts';
import type { TenantWorkspace } from '../support/workspaces.ts';

/** Lets the issuer make tokens; named after it. */
const ISSUER = 'service-provider-agents-issuer';
/** kcp grants no shorter life. */
const LIFE_SECONDS = 600;

let stage: Stage;
let tenants: KcpTenants;
let runtime: RunningRuntime;

beforeAll(async () => {
  stage = await createStage({ provider: agents, kcp: true });
  tenants = new KcpTenants(stage);
  runtime = await start();
});

afterAll(() => stage?.stop());

function start(renewalThreshold = 0.8): Promise<RunningRuntime> {
  return stage.run({
    workspaceTuning: { tokenLifeSeconds: LIFE_SECONDS, renewalThreshold, teardownPatienceMs: 15_000 },
    bridgeTuning: { timerSweepMs: 50, parkedSweepMs: 200, epochCheckMs: 300, upkeep: DEFAULT_UPKEEP },
  });
}

const embedded = (workspace: TenantWorkspace): Promise<EmbeddedAccess> => embeddedAccess(tenants, workspace, 'mine');

function another(workspace: TenantWorkspace, than: string): Promise<EmbeddedAccess> {
  return eventually('the workload has another token', async () => {
    const now = await embedded(workspace);
    return now.token !== than && now;
  });
}

const ready = async (workspace: TenantWorkspace): Promise<void> => {
  await tenants.orders(workspace).create('mine', 'x');
  await tenants.orders(workspace).untilReady('mine');
};
const failures = () => stage.steps.filter(({ outcome }) => outcome.kind === 'failed');
const lifeOf = (token: string): { iat: number; exp: number } =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')) as { iat: number; exp: number };

describe('a token that the workspace rejects is replaced, and the workload follows', () => {
  test.each([
    ['its ServiceAccount was deleted', SERVICE_ACCOUNTS, 'service-provider-agents', 'service-provider-agents'],
    ['our namespace was deleted', NAMESPACES, 'service-provider-agents', undefined],
  ])('%s', async (_what, type, name, namespace) => {
    const workspace = await tenants.bound(`revoked-${type.plural}`);
    await ready(workspace);
    const before = await embedded(workspace);
    await allowed(() => before.client.list(CONFIG_MAPS));
    await workspace.client.delete(type, name, { namespace });
    const after = await another(workspace, before.token);
    await allowed(() => after.client.list(CONFIG_MAPS));
    expect(await refused(() => after.client.list(SECRETS))).toBe(true);
    await tenants.orders(workspace).untilReady('mine');
  });

  test('a kubeconfig that somebody spoilt', async () => {
    const workspace = await tenants.bound('spoilt');
    await ready(workspace);
    const before = await embedded(workspace);
    const { name = '', namespace = '' } = (await tenants.secretOf(workspace))?.metadata ?? {};
    const data = { kubeconfig: Buffer.from('{}').toString('base64') };
    await tenants.platform.mergePatch(SECRETS, name, { data }, { namespace });
    const after = await another(workspace, before.token);
    expect(await allowed(() => after.client.list(CONFIG_MAPS))).toBe(true);
  });
});

describe('a kubeconfig Secret that somebody touches is made again, and no poll is waited for', () => {
  const elsewhere = (kubeconfig = ''): string => {
    const text = Buffer.from(kubeconfig, 'base64').toString('utf8');
    return Buffer.from(text.replaceAll('https://', 'https://elsewhere-')).toString('base64');
  };

  test.each<[string, (secret: Secret) => Promise<unknown>]>([
    ['deleted', ({ metadata: { name, namespace } }) => tenants.platform.delete(SECRETS, name, { namespace })],
    [
      'led to another address',
      ({ metadata: { name, namespace }, data }) => {
        const kubeconfig = elsewhere(data?.['kubeconfig']);
        return tenants.platform.mergePatch(SECRETS, name, { data: { kubeconfig } }, { namespace });
      },
    ],
  ])('%s', async (what, touch) => {
    const workspace = await tenants.bound(`touched-${what.split(' ')[0]}`);
    await ready(workspace);
    await stage.idle();
    const before = await tenants.secretOf(workspace);
    if (!before) throw new Error('there is no kubeconfig');
    const since = stage.steps.length;
    await touch(before);
    await eventually('it is good again', async () => {
      const now = (await tenants.secretOf(workspace))?.data?.['kubeconfig'];
      const was = before.data?.['kubeconfig'];
      return now !== undefined && now !== was && now !== elsewhere(was);
    });
    await eventually('it was its own change that did it', () =>
      stage.steps.slice(since).some(({ event }) => event.reason === 'AccessChanged'),
    );
    const { client } = await embedded(workspace);
    expect(await allowed(() => client.list(CONFIG_MAPS))).toBe(true);
  });
});

describe('permission claims', () => {
  const reason = 'PermissionClaimNotAccepted';

  test.each(['secrets', 'configmaps', 'rolebindings'])(
    '%s is not accepted: said, and served as soon as it is',
    async (claim) => {
      const workspace = await tenants.bound(`without-${claim}`, { claims: ({ resource }) => resource !== claim });
      await tenants.orders(workspace).create('mine', 'x');
      const object = await tenants.orders(workspace).untilReason('mine', reason);
      expect(object.status?.phase).toBe('Progressing');
      expect(conditionOf(object, 'Ready')?.message).toContain(claim);
      expect(conditionOf(object, 'Ready')?.message).not.toMatch(/namespaces|serviceaccounts/);
      await tenants.answerClaims(workspace, () => 'Accepted');
      await tenants.orders(workspace).untilReady('mine');
    },
  );

  test('none is accepted: all are named, and a deletion is not held up', async () => {
    const workspace = await tenants.bound('without-all', { claims: 'none' });
    await tenants.orders(workspace).create('mine', 'x');
    const object = await tenants.orders(workspace).untilReason('mine', reason);
    for (const claim of ['namespaces', 'secrets', 'serviceaccounts', 'clusterroles.rbac.authorization.k8s.io'])
      expect(conditionOf(object, 'Ready')?.message).toContain(claim);
    await tenants.orders(workspace).remove('mine');
    await tenants.orders(workspace).untilGone('mine');
    await tenants.untilPlatformIsClean(workspace);
  });

  test('one that is rejected later is said, the workload keeps its access, and it ends by itself', async () => {
    const workspace = await tenants.bound('rejecting');
    await ready(workspace);
    const { client } = await embedded(workspace);
    await tenants.answerClaims(workspace, (resource) => (resource === 'clusterroles' ? 'Rejected' : 'Accepted'));
    const object = await tenants.orders(workspace).untilReason('mine', reason);
    expect(conditionOf(object, 'Ready')?.message).toContain('clusterroles.rbac.authorization.k8s.io');
    await allowed(() => client.list(CONFIG_MAPS));
    await tenants.answerClaims(workspace, () => 'Accepted');
    await tenants.orders(workspace).untilReady('mine');
  });

  test('one that is missing holds up a teardown for a while, and not for ever', async () => {
    const workspace = await tenants.bound('stubborn');
    await ready(workspace);
    const { client } = await embedded(workspace);
    const workload = await tenants.workloadCluster(workspace, 'mine');
    await tenants.answerClaims(workspace, (resource) => (resource === 'secrets' ? 'Rejected' : 'Accepted'));
    await tenants.orders(workspace).untilReason('mine', reason);
    await tenants.orders(workspace).remove('mine');
    await tenants
      .orders(workspace)
      .until(
        'mine',
        'Terminating for want of the claim',
        (object) => object.status?.phase === 'Terminating' && conditionOf(object, 'Ready')?.reason === reason,
      );
    await tenants.orders(workspace).untilGone('mine');
    await tenants.untilPlatformIsClean(workspace);
    expect(await workload.get(SECRETS, agentName(workspace.logicalCluster), 'default')).toBeUndefined();
    // The rights went before the claim was met with.
    await eventually('the kubeconfig is worth nothing', () => refused(() => client.list(CONFIG_MAPS)));
  });

  test('can be accepted for what carries our label alone', async () => {
    const matchLabels = { 'service-provider.open-control-plane.io/provider': agents.name };
    const workspace = await tenants.bound('selective', { selector: { matchLabels } });
    await ready(workspace);
    expect(await allowed(async () => (await embedded(workspace)).client.list(CONFIG_MAPS))).toBe(true);
  });
});

describe('renewal', () => {
  /** Of ten minutes. */
  const SIX_SECONDS = 0.01;
  const restart = async (renewalThreshold: number): Promise<void> => {
    await runtime.stop();
    runtime = await start(renewalThreshold);
  };

  test('before its time, the workload follows, the token before still works, no install fails', async () => {
    await restart(SIX_SECONDS);
    const workspace = await tenants.bound('renewing');
    await ready(workspace);
    const since = failures().length;
    const first = await embedded(workspace);
    const { iat, exp } = lifeOf(first.token);
    expect(exp - iat).toBe(LIFE_SECONDS);
    const second = await another(workspace, first.token);
    const third = await another(workspace, second.token);
    for (const { client } of [second, third]) await allowed(() => client.list(CONFIG_MAPS));
    expect(lifeOf(third.token).exp).toBeGreaterThan(exp);
    expect(failures().slice(since)).toEqual([]);
  });

  test("works although the issuer's rights were taken away", async () => {
    await restart(SIX_SECONDS);
    const workspace = await tenants.bound('refusing');
    await ready(workspace);
    const before = await embedded(workspace);
    await workspace.client.delete(ROLE_BINDINGS, ISSUER, { namespace: 'service-provider-agents' });
    const after = await another(workspace, before.token);
    expect(await allowed(() => after.client.list(CONFIG_MAPS))).toBe(true);
  });

  // Ten minutes: kcp grants no token that ends sooner.
  test.runIf(process.env['SLOW_TESTS'])(
    'after the first token has ended, the copy in the workload still works',
    async () => {
      await restart(0.5);
      const workspace = await tenants.bound('lasting');
      await ready(workspace);
      const since = failures().length;
      const first = await embedded(workspace);
      await eventually('the first token has ended', () => refused(() => first.client.list(CONFIG_MAPS)), {
        timeout: (LIFE_SECONDS + 300) * 1_000,
      });
      const now = await embedded(workspace);
      expect(now.token).not.toBe(first.token);
      expect(await allowed(() => now.client.list(CONFIG_MAPS))).toBe(true);
      expect(failures().slice(since)).toEqual([]);
    },
    (LIFE_SECONDS + 400) * 1_000,
  );
});
