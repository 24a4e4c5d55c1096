import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { internal, isEngineError } from '../../daemon/base/errors.ts';
import { limitFileSize } from '../../daemon/base/kernel/files/file-size-limit.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { ProcessIdentity } from '../../daemon/base/kernel/processes/process.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type { Bundle } from '../runc/exec-root.ts';
import { controlOf, writesToOld } from './monitor-control.ts';
import type { MonitorControl } from './monitor-control.ts';
import { monitorOf } from './monitor-pid.ts';

const POLL_MS = 5;
/** A monitor that has read its request acts on it at once; one that has done nothing for so long never got it. */
const RESEND_MS = 500;

/** A container and its first process, by which its conmon is found when `bundle` was cleaned away. */
export interface Monitored {
  bundle: Bundle;
  init: ProcessIdentity | undefined;
}

/**
 * Makes the conmon of `bundle` go on in a new file at `logPath`. Resolves when the file is there or conmon has ended.
 * Throws EngineError internal when neither happens in time: a stopped monitor, say. Calling it again goes on waiting.
 */
export async function reopenLog(
  control: MonitorControl,
  { bundle, init }: Monitored,
  logPath: string,
): Promise<void> {
  const deadline = performance.now() + limits.logReopenTimeoutMs;
  let askedAt = Number.NEGATIVE_INFINITY;
  while (!existsSync(logPath)) {
    const monitor = monitorOf(bundle, init);
    if (monitor === undefined) {
      return;
    }
    const fifo = controlOf(monitor.pid, bundle.control);
    const now = performance.now();
    if (now > deadline) {
      throw internal(
        `rotate log ${logPath}: monitor ${monitor.pid} did not reopen it in ${limits.logReopenTimeoutMs} ms`,
      );
    }
    const isAsked = control.isPending(fifo) || now - askedAt < RESEND_MS;
    // By what it has open, not by what we remember: a daemon that died here may have asked already.
    if (!isAsked && writesToOld(monitor.pid, realPath(logPath))) {
      ask(control, fifo);
      askedAt = now;
    }
    await sleep(POLL_MS);
  }
}

function ask(control: MonitorControl, fifo: string): void {
  try {
    control.reopenLog(fifo);
  } catch (error) {
    if (!isEngineError(error, 'conflict')) {
      throw error;
    }
    // It ends just now; the next look tells.
  }
}

/** As the kernel shows it in /proc: without links. The file itself is not there. */
function realPath(logPath: string): string {
  return join(realpathSync(dirname(logPath)), basename(logPath));
}

/** Bounds each file that the conmon of `bundle` writes, for as long as it lives. Nothing happens when it has ended. */
export function limitLog(
  { bundle, init }: Monitored,
  bytesMax: number | null,
  { id, log }: { id: string; log: Logger },
): void {
  const monitor = monitorOf(bundle, init);
  if (monitor === undefined) {
    return;
  }
  try {
    if (!limitFileSize(monitor, bytesMax)) {
      log.warn({ container: id }, 'the monitor takes no bound of its log: it was started by an older daemon');
    }
  } catch (error) {
    // It ended just now, or the kernel forbids it: the log is still looked at and rotated.
    log.warn({ container: id, err: error }, 'the size of a log could not be bounded');
  }
}
