import type { FunctionName } from '../../shared/events/catalogue.ts';
import type { Outcome } from '../../shared/events/outcome.ts';
import type { ServiceEvent } from '../../shared/events/service-event.ts';
import type { RedisSettings } from '../../shared/queue/redis-settings.ts';

interface CommonOrder {
  provider: string;
  functionName: FunctionName;
  concurrency: number;
  runLimitMs: number;
  leaseMs: number;
  logFile: string;
}

/** What a host's process is started with. */
export type HostOrder = CommonOrder &
  (
    | { kind: 'worker'; redis: RedisSettings }
    | { kind: 'server'; port: number }
    | { kind: 'dispatcher'; redis: RedisSettings; address: string }
  );

export type ToHost =
  | { do: 'end'; call: number; outcome: Outcome }
  | { do: 'end'; call: number; error: string }
  /** Would a request be sent now? */
  | { do: 'guard'; call: number }
  /** Why is this process not ready? */
  | { do: 'problems' }
  | { do: 'shutdown' };

export type FromHost =
  | { said: 'ready'; port: number }
  | { said: 'problems'; problems: string[] }
  | { said: 'begun'; call: number; event: ServiceEvent }
  | { said: 'told'; call: number; reason: string }
  | { said: 'wanted' | 'may send' | 'may not send' | 'failed'; call: number };
