import { pino } from 'pino';
import type { Logger } from '../../daemon/base/logger.ts';
import type { World } from './world.ts';

/** Errors are what must not happen. */
export function failureLogger(world: World, name: string): Logger {
  const write = (line: string): void => void world.failures.push(`${name} logs ${line.trim()}`);
  return pino({ level: 'error', base: null, timestamp: false }, { write });
}
