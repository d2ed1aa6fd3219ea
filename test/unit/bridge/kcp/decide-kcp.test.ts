import { describe, expect, test } from 'vitest';
import { kcpStep } from '../../../../bridge/kcp/decide-kcp.ts';

const settings = (providerWorkspace = 'root:a') => ({
  providerWorkspace,
  kubeconfigSecret: { name: 's', namespace: 'n' },
});

describe('kcp mode', () => {
  test('starts when the ProviderConfig has kcp settings', () => {
    expect(kcpStep(undefined, settings())).toEqual({ do: 'start', settings: settings() });
  });

  test('goes on undisturbed while they stay the same', () => {
    expect(kcpStep(settings(), settings())).toEqual({ do: 'nothing' });
  });

  test('begins anew with other settings', () => {
    expect(kcpStep(settings(), settings('root:b'))).toEqual({ do: 'start', settings: settings('root:b') });
  });

  test('stops when they are removed', () => {
    expect(kcpStep(settings(), undefined)).toEqual({ do: 'stop' });
    expect(kcpStep(undefined, undefined)).toEqual({ do: 'nothing' });
  });

  test.each(['gone', 'invalid'] as const)('stays as it is while the ProviderConfig is %s', (wanted) => {
    expect(kcpStep(settings(), wanted)).toEqual({ do: 'nothing' });
    expect(kcpStep(undefined, wanted)).toEqual({ do: 'nothing' });
  });
});
