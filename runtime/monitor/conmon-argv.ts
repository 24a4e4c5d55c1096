import type { Bundle } from '../runc/exec-root.ts';

/** Programs and places that every monitor is started with. */
export interface MonitorSettings {
  conmonPath: string;
  /** runc or another; absolute: conmon looks it up on no PATH. */
  runtimePath: string;
  /** Arguments that it is always given. */
  runtimeArgs: readonly string[];
  runcRoot: string;
  exitDirectory: string;
  systemdCgroup: boolean;
}

export interface CreateMonitor {
  id: string;
  bundle: Bundle;
  terminal: boolean;
  /** Container reads from attached clients. */
  stdin: boolean;
  /** Its standard input outlives the client that leaves. */
  leaveStdinOpen: boolean;
  logPath: string | null;
}

/** conmon's arguments to create a container and watch it. Options as of conmon 2.1. */
export function createArgv(settings: MonitorSettings, request: CreateMonitor): [string, ...string[]] {
  const { id, bundle } = request;
  return [
    settings.conmonPath,
    ...common(settings, { id, uuid: id, bundle, terminal: request.terminal, stdin: request.stdin }),
    `--exit-dir=${settings.exitDirectory}`,
    `--log-path=${request.logPath === null ? 'none' : `k8s-file:${request.logPath}`}`,
    ...(request.leaveStdinOpen ? ['--leave-stdin-open'] : []),
    ...(settings.systemdCgroup ? ['--systemd-cgroup'] : []),
  ];
}

/**
 * Where the output of an exec session goes: to the client that attaches, which conmon waits for; straight into
 * descriptors that conmon was given as its own 0, 1 and 2; or nowhere.
 */
export type ExecOutput = 'attached' | 'passed' | 'dropped';

export interface ExecMonitor {
  containerId: string;
  execId: string;
  bundle: Bundle;
  terminal: boolean;
  stdin: boolean;
  output: ExecOutput;
}

/** conmon's arguments to run one more process in a container. */
export function execArgv(settings: MonitorSettings, request: ExecMonitor): [string, ...string[]] {
  const { containerId, execId, bundle, terminal, output } = request;
  // A passed stdin is a descriptor like the others.
  const stdin = request.stdin && output !== 'passed';
  return [
    settings.conmonPath,
    ...common(settings, { id: containerId, uuid: execId, bundle, terminal, stdin }),
    '--exec',
    ...(output === 'attached' ? ['--exec-attach'] : []),
    `--exec-process-spec=${bundle.config}`,
    `--log-path=${output === 'passed' ? 'passthrough' : 'none'}`,
  ];
}

/**
 * runc's warnings would go to standard error, which is the container's own. What it fails for is written there all the
 * same, plainly (runc's main.go, fatal).
 */
export const QUIET = ['--log', '/dev/null'] as const;

function common(
  settings: MonitorSettings,
  one: { id: string; uuid: string; bundle: Bundle; terminal: boolean; stdin: boolean },
): string[] {
  return [
    '--api-version=1',
    `--cid=${one.id}`,
    `--cuuid=${one.uuid}`,
    `--name=${one.id}`,
    `--runtime=${settings.runtimePath}`,
    ...settings.runtimeArgs.map((argument) => `--runtime-arg=${argument}`),
    '--runtime-arg=--root',
    `--runtime-arg=${settings.runcRoot}`,
    ...QUIET.map((argument) => `--runtime-arg=${argument}`),
    `--bundle=${one.bundle.path}`,
    `--container-pidfile=${one.bundle.pidFile}`,
    `--conmon-pidfile=${one.bundle.monitorPidFile}`,
    // The attach socket lies in the bundle, not behind a shortened link in a directory of its own.
    '--full-attach',
    // No fsync of the log at exit: it costs more than the start, and a log line is no database row.
    '--no-sync-log',
    ...(one.terminal ? ['--terminal'] : []),
    ...(one.stdin ? ['--stdin'] : []),
  ];
}

/** The whole environment of conmon and runc: nothing of the daemon's own, like NOTIFY_SOCKET, reaches them. */
export function runcEnvironment(): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin',
    // runc lives for 20 ms: collecting its garbage takes one of them, and frees nothing in time.
    GOGC: 'off',
  };
}
