import { describe, expect, test } from 'vitest';
import { HttpKubeClient } from '../../../../shared/kube/client.ts';
import { CONFIG_MAPS } from '../../../../shared/kube/resources.ts';
import { ServerClock } from '../../../../shared/kube/server-clock.ts';
import { type PacedTransport, Pauses } from '../../../../shared/kube/pauses.ts';

const OURS = Date.parse('2026-05-05T12:00:00.700Z');
const ago = (ms: number): string => new Date(OURS - ms).toUTCString();

describe('the time of a server', () => {
  test.each([
    ['is ours while it has said nothing', undefined, 0],
    ['is ours where they are about the same', ago(1_500), 0],
    ['is its own where we are five minutes fast', ago(300_000), -300_000],
    ['is its own where we are an hour slow', ago(-3_600_000), 3_600_000],
    ['is ours where what it says is no time', 'soon', 0],
    ['is ours where it says several', [ago(300_000), ago(0)], 0],
  ])('%s', (_what, date, aheadMs) => {
    const clock = new ServerClock(() => OURS);
    clock.heard(date);
    expect(Math.abs(clock.now().getTime() - OURS - aheadMs)).toBeLessThan(1_000);
  });

  test('is that of its last answer: a clock of ours that is put right counts again', () => {
    let ours = OURS - 3_600_000;
    const clock = new ServerClock(() => ours);
    clock.heard(ago(0));
    ours = OURS;
    clock.heard(ago(0));
    expect(clock.now().getTime()).toBe(OURS);
  });

  test('is known to every client of that server', async () => {
    const body = { text: () => Promise.resolve('{"metadata":{"name":"a"}}') };
    const answer = { statusCode: 200, headers: { date: new Date(Date.now() - 300_000).toUTCString() }, body };
    const transport = {
      dispatcher: { request: () => Promise.resolve(answer) },
      authorization: () => Promise.resolve(undefined),
      pauses: new Pauses(),
    } as unknown as PacedTransport;
    const client = new HttpKubeClient('https://server', transport);
    await client.fenced(() => undefined).get(CONFIG_MAPS, 'a', 'default');
    for (const each of [client, client.within(1_000), client.fenced(() => undefined)])
      expect(Date.now() - each.now().getTime()).toBeGreaterThan(290_000);
  });
});
