import { describe, expect, test } from 'vitest';
import { defineProvider } from '../../../../shared/provider/define.ts';
import { renamed } from '../../../../shared/provider/provider.ts';
import { GROUP, provider, providerOptions, withoutKcp } from '../../functions/objects.ts';

describe('a provider', () => {
  test('gets every default filled in', () => {
    expect(provider).toMatchObject({
      name: 'db',
      workloadCluster: true,
      access: { mcp: {}, workload: {} },
      kcp: { exportName: GROUP, permissionClaims: [] },
      finalizer: `${GROUP}/finalizer`,
      controllerName: 'db',
      onboardingControllerName: 'db',
    });
  });

  test('keeps the names under which tenants know it already', () => {
    const flux = defineProvider({
      ...providerOptions,
      finalizer: 'old.example.org/flux',
      controllerName: 'Flux',
      onboardingControllerName: 'template',
      kcp: { exportName: 'mine', permissionClaims: [{ resource: 'events', verbs: ['get'] }] },
    });
    expect(flux).toMatchObject({
      finalizer: 'old.example.org/flux',
      controllerName: 'Flux',
      onboardingControllerName: 'template',
      kcp: { exportName: 'mine', permissionClaims: [{ resource: 'events', verbs: ['get'] }] },
    });
  });

  test('needs no kcp', () => {
    const { kcp: _, ...standard } = providerOptions;
    expect(defineProvider({ ...standard, config: withoutKcp, workloadCluster: false }).kcp).toBeUndefined();
  });

  const { kcp: _, ...noKcp } = providerOptions;
  test.each([
    ['a name that is no DNS label', { ...providerOptions, name: 'My_Db' }, /My_Db: name must be a DNS label/],
    ['no name', { ...providerOptions, name: '' }, /name must be a DNS label/],
    ['a name that is too long', { ...providerOptions, name: 'n'.repeat(64) }, /DNS label/],
    ['kcp without a workload cluster', { ...providerOptions, workloadCluster: false }, /workloadCluster: true/],
    ['spec.kcp in its config, but no kcp', noKcp, /set kcp: false/],
    ['kcp, but no spec.kcp in its config', { ...providerOptions, config: withoutKcp }, /set kcp: true/],
  ])('is refused with %s, and told the remedy', (_what, options, message) => {
    expect(() => defineProvider(options as typeof providerOptions)).toThrow(
      expect.objectContaining({ code: 'INVALID_PROVIDER', message: expect.stringMatching(message) as string }) as Error,
    );
  });
});

describe('a provider under another name', () => {
  test('names derived from the old one follow, and the object does not lose its finalizer', () => {
    expect(renamed(provider, 'db-eu')).toMatchObject({
      name: 'db-eu',
      controllerName: 'db-eu',
      onboardingControllerName: 'db-eu',
      finalizer: provider.finalizer,
      kcp: provider.kcp,
    });
    expect(provider.name).toBe('db');
  });

  test('names that were given stay', () => {
    const flux = defineProvider({ ...providerOptions, controllerName: 'Flux' });
    expect(renamed(flux, 'other')).toMatchObject({ controllerName: 'Flux', onboardingControllerName: 'Flux' });
  });

  test('must be a DNS label', () => {
    expect(() => renamed(provider, 'Not/Good')).toThrow(/--provider-name Not\/Good: must be a DNS label/);
  });
});
