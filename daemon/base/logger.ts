import { pino } from 'pino';
import type { DestinationStream, Logger as PinoLogger } from 'pino';

/** Constant sentence as message, data as fields. Children carry `container`, `request`, ... */
export type Logger = PinoLogger;

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'fatal';

/** Field paths that may hold credentials or user secrets; replaced by `[redacted]` wherever they are logged. */
const REDACTED = [
  '*.password',
  '*.identitytoken',
  '*.registrytoken',
  '*.auth',
  'headers.authorization',
  'headers["x-registry-auth"]',
  'headers["x-registry-config"]',
  '*.Env',
  'Env',
  'env',
  '*.env',
];

/** The daemon's root logger: JSON lines, or readable text on a terminal. */
export async function createLogger(options: {
  level: LogLevel;
  pretty: boolean;
  destination?: DestinationStream;
}): Promise<Logger> {
  const settings = {
    level: options.level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: REDACTED, censor: '[redacted]' },
  };
  if (options.pretty) {
    // Loaded for a terminal only: a service never pays its memory.
    const { default: pretty } = await import('pino-pretty');
    return pino(settings, pretty({ destination: 2, sync: true, translateTime: 'HH:MM:ss.l' }));
  }
  return pino(settings, options.destination ?? pino.destination({ dest: 2, sync: true }));
}

/** Discards everything; for tests and for tools. */
export const silentLogger: Logger = pino({ level: 'silent' });
