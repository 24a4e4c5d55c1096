import type { Logger } from '../base/logger.ts';

/** Exit code of a daemon that ended by a bug: systemd starts another one. */
export const CRASH_EXIT_CODE = 2;

/**
 * An error that was not caught leaves the process in an unknown state: it is logged and the process ends. What must
 * survive belongs to the database, the monitors and the kernel; the next daemon takes it over.
 */
export function endOnCrash(log: Logger): void {
  const crash = (kind: string) => (error: unknown) => {
    try {
      log.fatal({ err: error, kind }, 'bug: an error that nobody caught');
    } finally {
      process.exit(CRASH_EXIT_CODE);
    }
  };
  process.on('uncaughtException', crash('exception'));
  process.on('unhandledRejection', crash('rejection'));
}
