import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { isEngineError, unreachable } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { identify, isAlive } from '../../daemon/base/kernel/processes/process.ts';
import type { ProcessIdentity } from '../../daemon/base/kernel/processes/process.ts';
import { sendSignal } from '../../daemon/base/kernel/processes/pidfd.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Poller } from '../../daemon/base/kernel/sockets/poller.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { execArgv } from '../monitor/conmon-argv.ts';
import type { ExecOutput, MonitorSettings } from '../monitor/conmon-argv.ts';
import { endMonitor } from '../monitor/monitor-pid.ts';
import { MonitorProcess } from '../monitor/monitor-process.ts';
import type { MonitorOptions, MonitorReport } from '../monitor/monitor-process.ts';
import type { ConmonStdio } from '../monitor/conmon-stdio.ts';
import type { MonitorControl } from '../monitor/monitor-control.ts';
import type { Bundle } from '../runc/exec-root.ts';
import { runcFailure } from '../runc/failure.ts';
import { encodeSpec } from '../runc/spec-json.ts';
import type { OciProcess } from '../runc/spec-types.ts';
import { runcExec } from './runc-exec.ts';
import { noStdio } from './exec-stdio.ts';
import type { ExecStdio } from './exec-stdio.ts';
import { StdioPipes } from './stdio-pipes.ts';
import { killTree } from './process-tree.ts';
import { terminalStdio } from './terminal-stdio.ts';

export interface ExecRequest {
  containerId: string;
  execId: string;
  process: OciProcess;
  stdin: boolean;
  /** Its output is not read: conmon drops it, also after this daemon has ended. */
  detached?: boolean;
  /** It is of no use without this daemon: should that be killed, the next one ends it. */
  endsWithDaemon?: boolean;
  consoleSize?: { height: number; width: number };
}

export interface ExecDeps {
  settings: MonitorSettings;
  /** The container is runc's, whose `exec --detach` leaves us its process as a child. */
  isRunc: boolean;
  temporary: string;
  /** The session's own directory. */
  bundle: Bundle;
  /** Opens the stdio of the conmon whose socket is at `path`. */
  connect(path: string, options: { acceptsInput: boolean; isProcessAlive(): boolean }): Promise<ConmonStdio>;
  control: MonitorControl;
  poller: Poller;
  /** Numbers of all processes in the container. */
  processes(): readonly number[];
  log: Logger;
}

/** Exit code told when the monitor of a session was killed and took the true one with it: 128 + SIGKILL. */
const LOST_EXIT_CODE = 137;

/** A process that runs. */
interface Started {
  pid: number;
  stdio: ExecStdio;
  end: SessionEnd;
}

/** What tells of the end of a session. */
interface SessionEnd extends Disposable {
  exitCode(): Promise<number>;
}

/**
 * One more process in a running container, started with `runc exec --detach`: runc in the foreground does not end
 * before every child that inherited the output has, so that `exec sh -c 'server &'` would hang; and it would cost a
 * Go process per session.
 *
 * A terminal is conmon's, and we attach to it. Without one the process is our own child and writes straight into pipes
 * of ours, which saves conmon (3 ms of 30) and a copy of every byte. Detached, or when the next daemon must be able to
 * end it, it is conmon's.
 */
export class ExecSession {
  readonly pid: number;
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable | null;
  readonly exited: Promise<number>;
  readonly #deps: ExecDeps;
  /** Undefined when it has ended already. */
  readonly #process: ProcessIdentity | undefined;

  /**
   * Starts the process; resolves when it runs. Throws EngineError with details.exitCode: invalid_argument 126 (cannot
   * execute) or 127 (no such command), conflict when the container does not run, else internal.
   */
  static async start(deps: ExecDeps, request: ExecRequest): Promise<ExecSession> {
    const { bundle } = deps;
    mkdirSync(bundle.path, { recursive: true, mode: 0o700 });
    try {
      writeFileSync(bundle.config, encodeSpec(withConsoleSize(request)), { mode: 0o600 });
      if (request.endsWithDaemon === true) {
        writeFileSync(bundle.endsWithDaemon, '', { mode: 0o600 });
      }
      failpoint('runtime.exec.spawn');
      const started = await startAs(outputOf(request), deps, request);
      failpoint('runtime.exec.started');
      return new ExecSession(deps, started, request);
    } catch (error) {
      rmSync(bundle.path, { recursive: true, force: true });
      throw error;
    }
  }

  private constructor(deps: ExecDeps, { pid, end, stdio }: Started, request: ExecRequest) {
    this.#deps = deps;
    this.#process = identify(pid);
    this.pid = pid;
    this.stdin = stdio.stdin;
    this.stdout = stdio.stdout;
    this.stderr = stdio.stderr;
    if (isOwnChild(deps, request)) {
      // Its files are of no use once it runs, and so a daemon that is killed leaves none.
      this.#removeFiles();
    }
    this.exited = this.#finish(end, stdio);
  }

  resize(height: number, width: number): void {
    this.#deps.control.resize(this.#deps.bundle.control, { height, width });
  }

  /** Sends a signal to the process itself; nothing happens when it has ended. */
  kill(signal: number): void {
    if (this.#process) {
      sendSignal(this.#process, signal);
    }
  }

  /** Kills the process with everything it started. Resolves when there is nothing left to be sent a signal. */
  async killTree(): Promise<void> {
    if (this.#process) {
      await killTree(this.#process, () => this.#deps.processes());
    }
  }

  async #finish(end: SessionEnd, stdio: ExecStdio): Promise<number> {
    try {
      const exitCode = await this.#exitCode(end);
      await stdio.drain();
      return exitCode;
    } finally {
      end[Symbol.dispose]();
      this.#removeFiles();
    }
  }

  #removeFiles(): void {
    rmSync(this.#deps.bundle.path, { recursive: true, force: true });
  }

  async #exitCode(end: SessionEnd): Promise<number> {
    try {
      return await end.exitCode();
    } catch (error) {
      if (!isEngineError(error)) {
        throw error;
      }
      this.#deps.log.warn({ pid: this.pid, err: error }, 'the exit code of an exec session was lost');
      return LOST_EXIT_CODE;
    }
  }
}

/** Without terminal, client and reader all end with this daemon: nothing else needs its exit code. */
function isOwnChild({ isRunc }: ExecDeps, request: ExecRequest): boolean {
  return isRunc && outputOf(request) === 'passed' && request.endsWithDaemon !== true;
}

function outputOf({ process, detached }: ExecRequest): ExecOutput {
  if (detached === true) {
    return 'dropped';
  }
  return process.terminal ? 'attached' : 'passed';
}

function startAs(output: ExecOutput, deps: ExecDeps, request: ExecRequest): Promise<Started> {
  switch (output) {
    case 'attached':
      return startAttached(deps, request);
    case 'passed':
      return isOwnChild(deps, request) ? startOwnChild(deps, request) : startPassed(deps, request);
    case 'dropped':
      return startDropped(deps, request);
    default:
      return unreachable(output);
  }
}

async function startAttached(deps: ExecDeps, request: ExecRequest): Promise<Started> {
  const { bundle } = deps;
  return withMonitor(deps, request, 'attached', { stepwise: true }, async (monitor) => {
    monitor.proceed();
    await monitor.attachable(limits.launchTimeoutMs);
    let identity: ProcessIdentity | undefined;
    const channel = await deps.connect(bundle.attach, {
      acceptsInput: request.stdin,
      isProcessAlive: () => identity !== undefined && isAlive(identity),
    });
    try {
      failpoint('runtime.exec.attached');
      // Attached first, started then: not a byte of its output is missed.
      monitor.proceed();
      const pid = pidOf(await monitor.report(limits.launchTimeoutMs));
      identity = identify(pid);
      return { pid, end: endBy(monitor), stdio: terminalStdio(channel, { stdin: request.stdin }) };
    } catch (error) {
      channel.close();
      throw error;
    }
  });
}

async function startPassed(deps: ExecDeps, request: ExecRequest): Promise<Started> {
  using pipes = new StdioPipes({ stdin: request.stdin });
  return await withMonitor(
    deps,
    request,
    'passed',
    { stepwise: false, passed: pipes.childEnds },
    async (monitor) => {
      pipes.closeChildEnds();
      const report = await monitor.reportOrEnd(limits.launchTimeoutMs);
      // conmon reports no reason then: runc wrote it to the stderr of the process that never came to be.
      const pid = pidOf(report ?? { data: -1, message: pipes.complaint() });
      return { pid, end: endBy(monitor), stdio: pipes.open() };
    },
  );
}

async function startOwnChild(deps: ExecDeps, request: ExecRequest): Promise<Started> {
  using pipes = new StdioPipes({ stdin: request.stdin });
  const started = await runcExec(deps.settings, deps.poller, {
    containerId: request.containerId,
    bundle: deps.bundle,
    stdio: pipes.childEnds,
    spawned: () => pipes.closeChildEnds(),
  });
  if (started === undefined) {
    throw runcFailure('exec', pipes.complaint());
  }
  return {
    pid: started.pid,
    end: { exitCode: () => started.exitCode, [Symbol.dispose]: () => undefined },
    stdio: pipes.open(),
  };
}

async function startDropped(deps: ExecDeps, request: ExecRequest): Promise<Started> {
  return withMonitor(deps, request, 'dropped', { stepwise: false }, async (monitor) => {
    const pid = pidOf(await monitor.report(limits.launchTimeoutMs));
    return { pid, end: endBy(monitor), stdio: noStdio() };
  });
}

function endBy(monitor: MonitorProcess): SessionEnd {
  return {
    exitCode: async () => {
      const { data } = await monitor.report(0);
      return data < 0 ? 255 : data;
    },
    [Symbol.dispose]: () => monitor[Symbol.dispose](),
  };
}

/** Starts a conmon for `work`; when that fails, it is ended and nothing of it goes on. */
async function withMonitor(
  { settings, bundle, temporary }: ExecDeps,
  { containerId, execId, process, stdin }: ExecRequest,
  output: ExecOutput,
  options: Pick<MonitorOptions, 'stepwise' | 'passed'>,
  work: (monitor: MonitorProcess) => Promise<Started>,
): Promise<Started> {
  const argv = execArgv(settings, {
    containerId,
    execId,
    bundle,
    terminal: process.terminal,
    stdin,
    output,
  });
  const monitor = await MonitorProcess.start(argv, {
    cwd: bundle.path,
    ...(process.terminal && { temporary }),
    ...options,
  });
  try {
    return await work(monitor);
  } catch (error) {
    monitor[Symbol.dispose]();
    await monitor.forked;
    await endMonitor(bundle);
    throw error;
  }
}

/** The number of a process that was started. Throws what runc said otherwise. */
function pidOf({ data, message }: MonitorReport): number {
  if (data < 0) {
    throw runcFailure('exec', message ?? '');
  }
  return data;
}

function withConsoleSize({ process, consoleSize }: ExecRequest): OciProcess {
  return process.terminal && consoleSize ? { ...process, consoleSize } : process;
}
