import { describe, expect, test } from 'vitest';
import { INSTALL_REQUESTED } from '../../../../shared/events/catalogue.ts';
import { contentMode, type HttpHeaders, httpEvent, parseHttpEvent } from '../../../../shared/events/http-event.ts';
import { serviceEvent, toCloudEvent } from '../../../../shared/events/service-event.ts';
import { kcpKey, standardKey } from '../../functions/objects.ts';

const event = serviceEvent(INSTALL_REQUESTED, standardKey, { reason: 'NextStep', generation: 7 });
const STRUCTURED = { 'content-type': 'application/cloudevents+json' };

describe('whether there is an event in a request', () => {
  test.each<[string, HttpHeaders, 'structured' | 'binary' | undefined]>([
    ['structured', STRUCTURED, 'structured'],
    ['structured with a charset', { 'content-type': 'application/cloudevents+json; charset=utf-8' }, 'structured'],
    ['in other letters', { 'content-type': 'Application/CloudEvents+JSON;Charset="UTF-8"' }, 'structured'],
    ['with a parameter of somebody else', { 'content-type': 'application/cloudevents+json; profile=x' }, 'structured'],
    ['in a charset that is not read', { 'content-type': 'application/cloudevents+json; charset=latin1' }, undefined],
    ['a batch', { 'content-type': 'application/cloudevents-batch+json' }, undefined],
    ['a format that is not read', { 'content-type': 'application/cloudevents+avro' }, undefined],
    ['binary', { 'ce-id': '1', 'ce-specversion': '1.0', 'content-type': 'application/json' }, 'binary'],
    ['binary without any content type', { 'ce-id': '1', 'ce-specversion': '1.0' }, 'binary'],
    [
      'structured, with headers that contradict',
      { ...STRUCTURED, 'ce-id': '1', 'ce-specversion': '1.0' },
      'structured',
    ],
    ['JSON without an event', { 'content-type': 'application/json' }, undefined],
    ['nothing', {}, undefined],
  ])('%s', (_name, headers, mode) => {
    expect(contentMode(headers)).toBe(mode);
  });
});

describe('an event', () => {
  test.each([standardKey, kcpKey])('comes out of both modes as it went in', (key) => {
    const one = serviceEvent(INSTALL_REQUESTED, key, { reason: 'Changed', generation: 3, traceparent: '00-a-b-01' });
    expect(parseHttpEvent(httpEvent(one).headers, '')).toEqual({ event: one, leaseSeconds: undefined });
    const body = JSON.stringify(toCloudEvent(one).toJSON());
    expect(parseHttpEvent(STRUCTURED, body)).toEqual({ event: one, leaseSeconds: undefined });
  });

  test('says how long its object is held, in whole seconds', () => {
    expect(parseHttpEvent(httpEvent(event, 63.9).headers, '').leaseSeconds).toBe(63);
  });

  test.each(['0', '-1', 'soon'])('that is held for %s seconds is refused', (leaseseconds) => {
    expect(() => parseHttpEvent({ ...httpEvent(event).headers, 'ce-leaseseconds': leaseseconds }, '')).toThrow(
      /leaseseconds/,
    );
  });

  test('brings data that nobody reads', () => {
    const headers = { ...httpEvent(event).headers, 'content-type': 'application/json' };
    expect(parseHttpEvent(headers, '{ not even JSON').event).toEqual(event);
  });

  test.each<[string, HttpHeaders, string, RegExp]>([
    ['no JSON', STRUCTURED, '{', /not a CloudEvent/],
    ['no event', STRUCTURED, '{}', /not a CloudEvent|specversion/],
    ['a header that lacks', { ...httpEvent(event).headers, 'ce-source': undefined }, '', /CloudEvent|source/],
    ['a source of somebody else', { ...httpEvent(event).headers, 'ce-source': '/x' }, '', /source/],
  ])('with %s is refused, and it is said why', (_name, headers, body, problem) => {
    const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
    expect(() => parseHttpEvent(given, body)).toThrow(problem);
  });
});
