import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { Sender } from '../../../../bridge/send/sender.ts';
import type { Notice } from '../../../../bridge/send/to-events.ts';
import type { ServiceEvent } from '../../../../shared/events/service-event.ts';
import type { Priority, Publisher } from '../../../../shared/queue/publisher.ts';

const TUNING = {
  share: { burst: 1_000, perSecond: 1_000 },
  sendConcurrency: 3,
  sendRetryFirstMs: 5,
  sendRetryLimitMs: 20,
  sendTimeoutMs: 50,
};
const log = pino({ level: 'silent' });
const notice = (name: string, priority: Priority = 'user'): Notice => ({
  key: { provider: 'p', mode: 'kcp', cluster: 'c', namespace: 'n', name, uid: name },
  reason: 'Changed',
  priority,
});

/** A queue in this process, which can be told to fail or to hang. */
class LocalQueue implements Publisher {
  readonly sent: string[] = [];
  readonly release: (() => void)[] = [];
  state: 'up' | 'down' | 'hanging' = 'up';
  atOnce = 0;
  mostAtOnce = 0;

  async publish(event: ServiceEvent): Promise<void> {
    this.atOnce += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.atOnce);
    try {
      await sleep(1);
      if (this.state === 'down') throw new Error('away');
      if (this.state === 'hanging') await new Promise<void>((resolve) => this.release.push(resolve));
      this.sent.push(event.key.name);
    } finally {
      this.atOnce -= 1;
    }
  }

  async close(): Promise<void> {}
}

const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await sleep(2);
};

describe('the sender', () => {
  test("sends what is over a tenant's share behind the others' changes", async () => {
    const queue = new LocalQueue();
    let open = false;
    const tuning = { ...TUNING, share: { burst: 2, perSecond: 0.001 }, sendConcurrency: 1 };
    const sender = new Sender(queue, () => open, { tuning, log });
    for (const name of ['1', '2', '3', '4']) sender.remember(notice(name));
    const { key, ...rest } = notice('other');
    sender.remember({ ...rest, key: { ...key, cluster: 'd' } });
    open = true;
    sender.wake();
    await until(() => queue.sent.length === 5);
    expect(queue.sent).toEqual(['1', '2', 'other', '3', '4']);
  });

  test('sends what it is told, with bounded concurrency', async () => {
    const queue = new LocalQueue();
    const sender = new Sender(queue, () => true, { tuning: TUNING, log });
    for (let index = 0; index < 20; index++) sender.remember(notice(String(index)));
    await until(() => queue.sent.length === 20);
    expect(queue.mostAtOnce).toBe(3);
    expect(sender.problem).toBeUndefined();
  });

  test('remembers which objects changed while the queue is away, says so, and sends each once when it is back', async () => {
    const queue = new LocalQueue();
    queue.state = 'down';
    const sender = new Sender(queue, () => true, { tuning: TUNING, log });
    for (let change = 0; change < 500; change++) sender.remember(notice(String(change % 50)));
    await until(() => sender.problem !== undefined);
    await until(() => sender.waiting === 50);
    expect(sender.problem).toBe('queue: away; 50 objects wait to be sent');
    queue.state = 'up';
    await until(() => sender.waiting === 0 && queue.atOnce === 0);
    expect(queue.sent.sort()).toEqual(Array.from({ length: 50 }, (_, index) => String(index)).sort());
    expect(sender.problem).toBeUndefined();
  });

  test('holds back until the queue may be used', async () => {
    const queue = new LocalQueue();
    let open = false;
    const sender = new Sender(queue, () => open, { tuning: TUNING, log });
    sender.remember(notice('a'));
    await sleep(20);
    expect(queue.sent).toEqual([]);
    open = true;
    sender.wake();
    await until(() => queue.sent.length === 1);
  });

  test('sends again what got no answer, without piling up requests that hang', async () => {
    const queue = new LocalQueue();
    queue.state = 'hanging';
    const sender = new Sender(queue, () => true, { tuning: TUNING, log });
    for (let index = 0; index < 10; index++) sender.remember(notice(String(index)));
    await until(() => sender.problem !== undefined);
    await sleep(150);
    expect(queue.atOnce).toBe(3);
    expect(sender.waiting).toBe(10);
    queue.state = 'up';
    for (const release of queue.release) release();
    await until(() => sender.waiting === 0 && queue.atOnce === 0);
    expect(new Set(queue.sent).size).toBe(10);
  });

  test('sends nothing after it was stopped', async () => {
    const queue = new LocalQueue();
    const sender = new Sender(queue, () => true, { tuning: TUNING, log });
    await sender.stop();
    sender.remember(notice('a'));
    await sleep(20);
    expect(queue.sent).toEqual([]);
  });
});
