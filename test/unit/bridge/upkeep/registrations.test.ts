import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { RegistrationsInForce } from '../../../../bridge/upkeep/registrations.ts';
import foo from '../../../../functions/providers/foo/provider.ts';
import { createLogger } from '../../../../shared/log.ts';
import type { KubeClient } from '../../../../shared/kube/ports.ts';
import type { KubeObject } from '../../../../shared/model/kubernetes.ts';
import { registrationsInForceAnnotation } from '../../../../shared/names.ts';
import { newCluster } from '../../../../shared/provider/registration.ts';
import type { Provider } from '../../../../shared/provider/provider.ts';
import { registrationsFingerprint } from '../../../../shared/provider/registrations-fingerprint.ts';

const ANNOTATION = registrationsInForceAnnotation('standard');
const log = createLogger('error', 'test');

/** A ProviderConfig that two replicas follow, and what they wrote on it. */
function config() {
  let current: KubeObject = { metadata: { name: 'foo' } };
  const written: string[] = [];
  const replicas: RegistrationsInForce[] = [];
  const platform = {
    mergePatch(_type: unknown, _name: string, patch: KubeObject) {
      current = { metadata: { name: 'foo', annotations: patch.metadata.annotations ?? {} } };
      written.push(current.metadata.annotations?.[ANNOTATION] ?? '');
      for (const each of replicas) each.configChanged(current);
      return Promise.resolve(current);
    },
  } as unknown as KubeClient;
  const replica = (provider: Provider) => {
    const made = new RegistrationsInForce({ provider, mode: 'standard', platform, log });
    replicas.push(made);
    made.configChanged(current);
    return made;
  };
  return { written, replica };
}

const wider: Provider = {
  ...foo,
  access: { ...foo.access, clusters: { more: newCluster({ cluster: { purpose: 'workload' } }) } },
};
const [narrow, wide] = [foo, wider].map((provider) => registrationsFingerprint(provider, 'standard'));

test('who leads says so once, and who does not says nothing', async () => {
  const { written, replica } = config();
  const leader = replica(foo);
  replica(wider);
  await turn();
  expect(written).toEqual([]);
  leader.start();
  await turn();
  leader.configChanged({ metadata: { name: 'foo', annotations: { [ANNOTATION]: narrow ?? '' } } });
  await turn();
  expect(written).toEqual([narrow]);
});

test('two that think they lead do not write against each other; the next lead says it again', async () => {
  const { written, replica } = config();
  const [one, other] = [replica(foo), replica(wider)];
  one.start();
  await turn();
  other.start();
  for (let i = 0; i < 20; i++) await turn();
  expect(written).toEqual([narrow, wide]);
  one.stop();
  one.start();
  await turn();
  expect(written).toEqual([narrow, wide, narrow]);
});

test('the fingerprint tells by what is ordered, not by which rights are asked', () => {
  const access = { ...foo.access, mcp: { permissions: [] } };
  expect(registrationsFingerprint({ ...foo, access }, 'standard')).toBe(narrow);
  expect(wide).not.toBe(narrow);
  expect(registrationsFingerprint({ ...foo, workloadCluster: !foo.workloadCluster }, 'standard')).not.toBe(narrow);
});
