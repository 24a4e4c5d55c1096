import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { identify, isAlive } from '../../daemon/base/kernel/processes/process.ts';
import type { ProcessIdentity } from '../../daemon/base/kernel/processes/process.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { monitorOf } from '../monitor/monitor-pid.ts';
import type { Bundle, ExecRoot } from '../runc/exec-root.ts';
import { killTree, relationsOf } from './process-tree.ts';

const POLL_MS = 20;

/**
 * Files of exec sessions that were under way when an earlier daemon was killed. Those that are of no use without it are
 * ended behind this. `processes` are those of a container.
 */
export function removeEndedSessions(
  root: ExecRoot,
  processes: (containerId: string) => readonly number[],
  log: Logger,
): void {
  for (const id of readdirSync(root.containers)) {
    const container = root.bundle(id);
    for (const session of container.execIds().map((execId) => container.exec(execId))) {
      if (monitorOf(session) === undefined) {
        rmSync(session.path, { recursive: true, force: true });
      } else if (isAbandoned(session)) {
        void endAbandoned(session, () => processes(id)).catch((error: unknown) => {
          log.error({ container: id, err: error }, 'a session of an earlier daemon could not be ended');
        });
      }
    }
  }
}

/** Whether the session was started as one that is to end with its daemon. */
function isAbandoned(session: Bundle): boolean {
  return existsSync(session.endsWithDaemon);
}

/**
 * Ends a session that its daemon, which was killed, can no longer end. conmon has recorded the number of the process;
 * it is believed only as long as conmon lives and is its parent.
 */
async function endAbandoned(session: Bundle, candidates: () => readonly number[]): Promise<void> {
  const monitor = monitorOf(session);
  const pid = existsSync(session.pidFile) ? Number(readFileSync(session.pidFile, 'utf8')) : 0;
  const process = pid > 1 ? identify(pid) : undefined;
  if (monitor !== undefined && process !== undefined && relationsOf(pid)?.parent === monitor.pid) {
    await killTree(process, candidates);
  }
  if (monitor !== undefined) {
    await ended(monitor);
  }
  rmSync(session.path, { recursive: true, force: true });
}

async function ended(process: ProcessIdentity): Promise<void> {
  const deadline = performance.now() + limits.killWaitMs;
  while (isAlive(process) && performance.now() < deadline) {
    await sleep(POLL_MS);
  }
}
