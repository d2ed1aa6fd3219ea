import { describe, expect, test } from 'vitest';
import {
  DELETE_REQUESTED,
  INSTALL_REQUESTED,
  OBJECT_CHANGED,
  TEARDOWN_REQUESTED,
} from '../../../../shared/events/catalogue.ts';
import { again, done, failed, failedForGood, type Outcome, waiting } from '../../../../shared/events/outcome.ts';
import { fromReply, OUTCOME_HEADER, toReply } from '../../../../shared/events/reply.ts';
import { serviceEvent } from '../../../../shared/events/service-event.ts';
import { standardKey } from '../../functions/objects.ts';

const event = serviceEvent(INSTALL_REQUESTED, standardKey, { reason: 'Changed', generation: 3 });

describe('a reply', () => {
  test.each<Outcome>([
    done(),
    done(TEARDOWN_REQUESTED),
    done(OBJECT_CHANGED, DELETE_REQUESTED),
    again(0, 'Shutdown'),
    again(1_234.5, 'RequeueAfter'),
    waiting('AccessRequest mcp--1/größe ✓'),
    failed('a\nb "c"'),
    failed('no', true),
    failed('later', false, 5_000),
    failedForGood('no', '3/1'),
  ])('brings the outcome back', (outcome) => {
    const { headers, body } = toReply(outcome, event);
    expect(fromReply(headers, body, event)).toEqual(outcome);
  });

  test('has what a broker needs: the next event, and a timer in a header', () => {
    const next = toReply(done(DELETE_REQUESTED), event);
    expect(next.headers['content-type']).toMatch(/^application\/cloudevents\+json/);
    expect(JSON.parse(next.body)).toMatchObject({ type: DELETE_REQUESTED, subject: 'project-a/shop', generation: 3 });
    expect(toReply(again(1_234.5, 'x'), event).headers).toMatchObject({ 'service-provider-after': '1235' });
  });

  test.each<[string, Record<string, string>, string]>([
    ['of somebody else', {}, 'ok'],
    ['that contradicts itself', { [OUTCOME_HEADER]: 'waiting' }, JSON.stringify(failed('x'))],
    ['with an outcome that lacks a field', { [OUTCOME_HEADER]: 'again' }, '{"kind":"again"}'],
    ['with a negative time', { [OUTCOME_HEADER]: 'again' }, '{"kind":"again","afterMs":-1,"reason":"x"}'],
    ['that is cut off', { [OUTCOME_HEADER]: 'failed' }, '{"kind":"failed","mess'],
    ['with a next event that is none', { [OUTCOME_HEADER]: 'done' }, '{"type":"x"}'],
  ])('%s is no outcome', (_name, headers, body) => {
    expect(() => fromReply(headers, body, event)).toThrow(/reply|CloudEvent/);
  });

  test('about another object is no outcome', () => {
    const { headers, body } = toReply(done(DELETE_REQUESTED), { ...event, key: { ...standardKey, uid: 'other' } });
    expect(() => fromReply(headers, body, event)).toThrow(/another object/);
  });
});
