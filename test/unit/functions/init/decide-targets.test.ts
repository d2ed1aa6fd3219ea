import { expect, test } from 'vitest';
import { crdTargets } from '../../../../functions/init/decide-targets.ts';
import foo from '../../../../functions/providers/foo/provider.ts';

test('each CRD goes onto the cluster that its label names', () => {
  const [api, config] = [foo.api.crd(), foo.config.crd()];
  expect(crdTargets([config, api])).toEqual({ onboarding: [api], platform: [config] });
});

test.each([undefined, 'workload'])('a label %s is an error that names CRD and remedy', (label) => {
  const crd = {
    metadata: { name: 'bars.example.org', ...(label ? { labels: { 'openmcp.cloud/cluster': label } } : {}) },
  };
  expect(() => crdTargets([crd])).toThrow(
    /bars\.example\.org: label openmcp\.cloud\/cluster .*set it to onboarding or/,
  );
});
