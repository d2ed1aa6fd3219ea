import { expect, test } from 'vitest';
import { FUNCTION_NAMES } from '../../../../shared/events/catalogue.ts';
import { queueKeys, queueName, workId } from '../../../../shared/queue/keys.ts';
import { kcpKey, standardKey } from '../../functions/objects.ts';

const keysOf = (provider: string): string[] => {
  const { prefix, parked, timers, attempts, permanent, epoch, lease } = queueKeys(provider);
  return [prefix, parked, timers, attempts, permanent, epoch, lease('member')];
};

test('everything of one provider lies under one hash tag, and nothing of another', () => {
  const tags = keysOf('db').map((key) => /^\{[^{}]+\}/.exec(key)?.[0]);
  expect(new Set(tags)).toEqual(new Set(['{service-provider:db}']));
  expect(new Set([...keysOf('db'), ...keysOf('db-eu')]).size).toBe(14);
});

test('each function has a queue of its own', () => {
  expect(new Set(FUNCTION_NAMES.map(queueName)).size).toBe(4);
});

test('an object has one id in a queue, which BullMQ takes', () => {
  expect(workId(standardKey)).toMatch(/^o-[\w-]{27}$/);
  expect(workId({ ...standardKey })).toBe(workId(standardKey));
  expect(workId({ ...standardKey, uid: 'uid-2' })).not.toBe(workId(standardKey));
  expect(workId(kcpKey)).not.toBe(workId(standardKey));
});
