import { existsSync, readFileSync } from 'node:fs';
import { endOf, expectChildren } from '../../daemon/base/kernel/processes/children.ts';
import { internal } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Poller } from '../../daemon/base/kernel/sockets/poller.ts';
import { spawnSession } from '../../daemon/base/kernel/processes/spawn.ts';
import { QUIET, runcEnvironment } from '../monitor/conmon-argv.ts';
import type { MonitorSettings } from '../monitor/conmon-argv.ts';
import type { Bundle } from '../runc/exec-root.ts';

export interface RuncExecRequest {
  containerId: string;
  bundle: Bundle;
  /** Descriptors that become the process's own; they stay the caller's. Null = /dev/null. */
  stdio: { stdin: number | null; stdout: number; stderr: number };
  /** Called once runc has its copies of them. */
  spawned(): void;
}

/** A process that `runc exec --detach` has started; it is our child now that runc has ended. */
export interface RuncExec {
  pid: number;
  exitCode: Promise<number>;
}

/**
 * Starts a process in a running container without a monitor: two forks and a program less than with one. Resolves with
 * undefined when runc failed; why, it wrote to the stderr it was given.
 */
export async function runcExec(
  settings: MonitorSettings,
  poller: Poller,
  request: RuncExecRequest,
): Promise<RuncExec | undefined> {
  const { bundle, stdio } = request;
  // Between runc's end and our reading of the number no watch is on the process.
  using _expected = expectChildren();
  const pid = await spawnSession({
    path: settings.runtimePath,
    argv: ['runc', ...argumentsOf(settings, request)],
    cwd: bundle.path,
    env: runcEnvironment(),
    stdio: [stdio.stdin, stdio.stdout, stdio.stderr],
  });
  request.spawned();
  // It hangs on a container that was frozen meanwhile. The number is its until it is reaped.
  const timer = setTimeout(() => process.kill(pid, 'SIGKILL'), limits.launchTimeoutMs);
  const exitCode = await endOf(pid, poller).finally(() => clearTimeout(timer));
  if (exitCode !== 0 || !existsSync(bundle.pidFile)) {
    return undefined;
  }
  const started = Number(readFileSync(bundle.pidFile, 'utf8'));
  return { pid: started, exitCode: exitCodeOf(started, poller) };
}

async function exitCodeOf(pid: number, poller: Poller): Promise<number> {
  try {
    return await endOf(pid, poller);
  } catch (error) {
    throw internal(`process ${pid} did not come to us when runc ended`, { cause: error });
  }
}

function argumentsOf(settings: MonitorSettings, { containerId, bundle }: RuncExecRequest): string[] {
  return [
    '--root',
    settings.runcRoot,
    ...QUIET,
    ...(settings.systemdCgroup ? ['--systemd-cgroup'] : []),
    'exec',
    '--detach',
    '--pid-file',
    bundle.pidFile,
    '--process',
    bundle.config,
    containerId,
  ];
}
