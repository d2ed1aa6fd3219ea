import { destination, type Logger, pino } from 'pino';
import { redact } from './redact.ts';

export type { Logger };

export type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'trace';

/**
 * JSON lines. Every line passes through {@link redact} on its way out, whoever wrote it: a provider's own log calls
 * included.
 * @param file path or file descriptor; default standard output
 */
export function createLogger(level: LogLevel, name: string, file: string | number = 1): Logger {
  const sink = destination({ dest: file, sync: true });
  return pino({ level, name, base: { name } }, { write: (line: string) => void sink.write(redact(line)) });
}
