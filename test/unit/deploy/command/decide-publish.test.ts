import { describe, expect, test } from 'vitest';
import { eventOfFlags, eventsOfText, keyOfFlags, typeOfFlag } from '../../../../deploy/command/decide-publish.ts';
import { functionAddresses } from '../../../../deploy/command/dispatch.ts';
import { endsFlow } from '../../../../deploy/command/follow-flow.ts';
import { INSTALL_REQUESTED, OBJECT_CHANGED } from '../../../../shared/events/catalogue.ts';
import { again, done, failed, waiting } from '../../../../shared/events/outcome.ts';
import { serviceEvent, toCloudEvent } from '../../../../shared/events/service-event.ts';
import { standardKey } from '../../functions/objects.ts';

const json = toCloudEvent(serviceEvent(OBJECT_CHANGED, standardKey, { reason: 'Published' })).toJSON() as object;
const text = JSON.stringify(json);

describe('an event from flags', () => {
  test('is about an object of the onboarding cluster, or of a workspace', () => {
    expect(keyOfFlags({ object: 'a/b', uid: 'u', type: '' }, 'db')).toMatchObject({
      mode: 'standard',
      cluster: 'onboarding',
    });
    expect(keyOfFlags({ object: 'a/b', workspace: 'w', type: '' }, 'db')).toMatchObject({
      mode: 'kcp',
      cluster: 'w',
      uid: '',
    });
    expect(eventOfFlags(standardKey, INSTALL_REQUESTED)).toMatchObject({ key: standardKey, reason: 'Published' });
  });

  test.each([undefined, '', 'b', 'a/b/c', '/b'])('about %s is refused', (object) => {
    expect(() => keyOfFlags({ ...(object === undefined ? {} : { object }), type: '' }, 'db')).toThrow(/--object/);
  });

  test.each<[object, RegExp]>([
    [{ object: '../b' }, /^--object: namespace: expected a DNS label/],
    [{ object: 'a/b%2fc' }, /^--object: name: /],
    [{ object: `a/${'b'.repeat(254)}` }, /^--object: name: /],
    [{ workspace: 'root:org' }, /^--workspace: cluster: expected a logical cluster's name/],
    [{ workspace: '' }, /^--workspace: /],
    [{ workspace: '..' }, /^--workspace: /],
    [{ uid: 'a/b' }, /^--uid: /],
  ])('with %j is refused before anything is looked up', (flags, problem) => {
    expect(() => keyOfFlags({ object: 'a/b', type: '', ...flags }, 'db')).toThrow(problem);
  });

  test('has a type by its short name or whole', () => {
    expect(typeOfFlag('install.requested')).toBe(INSTALL_REQUESTED);
    expect(typeOfFlag(INSTALL_REQUESTED)).toBe(INSTALL_REQUESTED);
    expect(() => typeOfFlag('install')).toThrow(/object\.changed, install\.requested/);
  });
});

describe('events from a text', () => {
  test.each([
    ['one', text, 1],
    ['a list', `[${text},${text}]`, 2],
    ['one a line', `${text}\n\n${text}\n`, 2],
    ['one over several lines', JSON.stringify(json, undefined, 2), 1],
  ])('%s', (_name, given, count) => {
    expect(eventsOfText(given, 'db')).toHaveLength(count);
  });

  test.each([
    ['none', '', /no event/],
    ['an empty list', '[]', /no event/],
    ['a line that is cut off', `${text}\n{"a":`, /line 2/],
    [
      'the second is for another provider',
      `[${text},${text.replace('/serviceproviders/db/', '/serviceproviders/x/')}]`,
      /event 2 of 2: source/,
    ],
    ['a version that is not known', text.replace('.v1"', '.v9"'), /version/],
    ['something else', '{"hello":"world"}', /event 1 of 1/],
  ])('%s: none is taken', (_name, given, problem) => {
    expect(() => eventsOfText(given, 'db')).toThrow(problem);
  });
});

test('a flow ends where nothing follows at once', () => {
  const object = 'o';
  for (const outcome of [done(), again(1, 'x'), waiting('x'), failed('x')])
    expect(endsFlow({ object, end: 'done', outcome })).toBe(true);
  expect(endsFlow({ object, end: 'done', outcome: done(INSTALL_REQUESTED) })).toBe(false);
  expect(endsFlow({ object, end: 'again-from-the-start', outcome: done() })).toBe(false);
  expect(endsFlow({ object, end: 'held' })).toBe(false);
});

describe('where functions are served', () => {
  test('is named one by one', () => {
    expect([...functionAddresses(['provider-install=http://a:1/x', 'provider-delete=https://b'])]).toEqual([
      ['provider-install', 'http://a:1/x'],
      ['provider-delete', 'https://b'],
    ]);
  });

  test.each([
    [[], /at least one/],
    [['provider-install'], /expected <function>=<address>/],
    [['install=http://a'], /functions are resolve-credentials/],
    [['provider-install=a:1'], /expected/],
    [['provider-install=ftp://a'], /expected/],
    [['provider-install=http://a', 'provider-install=http://b'], /already/],
  ])('%s is refused', (given, problem) => {
    expect(() => functionAddresses(given)).toThrow(problem);
  });
});
