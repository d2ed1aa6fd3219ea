import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ServiceEvent } from '../../shared/events/service-event.ts';
import type { Outcome } from '../../shared/events/outcome.ts';
import type { FromHost, HostOrder, ToHost } from './messages.ts';

/** One invocation, as the function sees it. */
export interface Call {
  readonly event: ServiceEvent;
  /** Reasons for which it was told to end. */
  readonly told: readonly string[];
  readonly process: HostProcess;
  end(outcome: Outcome): void;
  fail(error: string): void;
  /** Whether a request would be sent now. */
  maySend(): Promise<boolean>;
}

/** A host in a process of its own, which can be killed. */
export class HostProcess {
  readonly calls: Call[] = [];
  port = 0;
  readonly #child: ChildProcess;
  readonly #answers = new Map<number, (may: boolean) => void>();
  readonly #told = new Map<number, string[]>();
  #onCall: (call: Call) => void;
  #onProblems: ((problems: string[]) => void) | undefined;

  private constructor(order: HostOrder, onCall: (call: Call) => void) {
    this.#onCall = onCall;
    this.#child = fork(join(import.meta.dirname, 'host-process.ts'), [JSON.stringify(order)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
  }

  static async start(order: HostOrder, onCall: (call: Call) => void): Promise<HostProcess> {
    const host = new HostProcess(order, onCall);
    host.#child.on('message', (message: FromHost) => host.#heard(message));
    const [ready] = (await once(host.#child, 'message')) as [Extract<FromHost, { said: 'ready' }>];
    host.port = ready.port;
    return host;
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }

  /** What its `/readyz` would say. */
  problems(): Promise<string[]> {
    return new Promise((resolve) => {
      this.#onProblems = resolve;
      this.#send({ do: 'problems' });
    });
  }

  /** As at SIGTERM, and after the patience: what runs is told to end. */
  shutdown(): void {
    this.#send({ do: 'shutdown' });
  }

  #send(message: ToHost): void {
    if (this.#child.connected) this.#child.send(message);
  }

  #heard(message: FromHost): void {
    switch (message.said) {
      case 'ready':
      case 'wanted':
        return;
      case 'problems':
        this.#onProblems?.(message.problems);
        return;
      case 'told':
        this.#told.get(message.call)?.push(message.reason);
        return;
      case 'begun':
        this.#begun(message.call, message.event);
        return;
      default:
        this.#answers.get(message.call)?.(message.said === 'may send');
    }
  }

  #begun(id: number, event: ServiceEvent): void {
    const told: string[] = [];
    this.#told.set(id, told);
    const call: Call = {
      event,
      told,
      process: this,
      end: (outcome) => this.#send({ do: 'end', call: id, outcome }),
      fail: (error) => this.#send({ do: 'end', call: id, error }),
      maySend: () =>
        new Promise((resolve) => {
          this.#answers.set(id, resolve);
          this.#send({ do: 'guard', call: id });
        }),
    };
    this.calls.push(call);
    this.#onCall(call);
  }
}
