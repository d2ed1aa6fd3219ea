import { describe, expect, test } from 'vitest';
import { kcpStep } from '../../../../bridge/kcp/decide-kcp.ts';
import { inForcePatch, settingsInForce } from '../../../../shared/kcp/settings.ts';
import { KCP_IN_FORCE_ANNOTATION } from '../../../../shared/names.ts';

const settings = (providerWorkspace = 'root:a') => ({
  providerWorkspace,
  kubeconfigSecret: { name: 's', namespace: 'n' },
});

describe('kcp mode', () => {
  test('starts when the ProviderConfig has kcp settings', () => {
    for (const inForce of [undefined, settings()])
      expect(kcpStep(undefined, inForce, settings())).toEqual({ do: 'start', settings: settings() });
  });

  test('goes on undisturbed while they stay the same', () => {
    expect(kcpStep(settings(), settings(), settings())).toEqual({ do: 'nothing' });
  });

  test('goes on with those in force while others are wanted, or none', () => {
    for (const wanted of [settings('root:b'), undefined])
      for (const running of [settings(), undefined])
        expect(kcpStep(running, settings(), wanted)).toEqual({ do: 'hold', settings: settings() });
  });

  test('begins anew with other identities, which lead to the same objects', () => {
    const other = { ...settings(), identityHashes: { 'widgets.example.org': 'abc' } };
    expect(kcpStep(settings(), settings(), other)).toEqual({ do: 'start', settings: other });
  });

  test('begins anew with other settings once they are in force', () => {
    const b = settings('root:b');
    for (const inForce of [undefined, b]) expect(kcpStep(settings(), inForce, b)).toEqual({ do: 'start', settings: b });
  });

  test('stops when they are removed, and none are in force', () => {
    expect(kcpStep(settings(), undefined, undefined)).toEqual({ do: 'stop' });
    expect(kcpStep(undefined, undefined, undefined)).toEqual({ do: 'nothing' });
  });

  test.each(['gone', 'invalid'] as const)('stays as it is while the ProviderConfig is %s', (wanted) => {
    for (const inForce of [undefined, settings('root:b')]) {
      expect(kcpStep(settings(), inForce, wanted)).toEqual({ do: 'nothing' });
      expect(kcpStep(undefined, inForce, wanted)).toEqual({ do: 'nothing' });
    }
  });
});

describe('the settings in force', () => {
  const written = (annotation: unknown) =>
    settingsInForce({ metadata: { name: 'foo', annotations: { [KCP_IN_FORCE_ANNOTATION]: annotation as string } } });

  test('are read as they were written', () => {
    const { metadata } = inForcePatch(settings()) as { metadata: { annotations: Record<string, string> } };
    expect(settingsInForce({ metadata: { name: 'foo', ...metadata } })).toEqual(settings());
    expect(inForcePatch(null)).toEqual({ metadata: { annotations: { [KCP_IN_FORCE_ANNOTATION]: null } } });
  });

  test.each(['', 'x', '{}', 'null', '[]', '{"providerWorkspace":"a","kubeconfigSecret":{}}'])(
    'are none where %s is written',
    (text) => {
      expect(written(text)).toBeUndefined();
    },
  );
});
