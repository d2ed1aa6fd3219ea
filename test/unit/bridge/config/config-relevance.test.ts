import { describe, expect, test } from 'vitest';
import { configRelevance } from '../../../../bridge/config/config-relevance.ts';

const config = (fields: object = {}) => ({ metadata: { name: 'foo', uid: 'c1', generation: 1, ...fields } });
const fanOut = { act: true, reason: 'ProviderConfigChanged', priority: 'background' };

describe('the ProviderConfig', () => {
  test.each([
    ['appears', undefined, config()],
    ['has another spec', config(), config({ generation: 2 })],
    ['is being deleted', config(), config({ deletionTimestamp: '2026-01-01T00:00:00Z' })],
    ['is gone', config(), undefined],
    ['was created again', config(), config({ uid: 'c2' })],
  ])('that %s concerns all objects, in the background', (_, before, now) => {
    expect(configRelevance(before, now)).toEqual(fanOut);
  });

  test.each([
    ['changed in its status or labels', config({ resourceVersion: '1' }), config({ resourceVersion: '2' })],
    ['is still missing', undefined, undefined],
  ])('that %s concerns none', (_, before, now) => {
    expect(configRelevance(before, now)).toEqual({ act: false, because: 'ConfigUnchanged' });
  });
});
