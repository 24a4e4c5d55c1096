import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { Readable, Writable } from 'node:stream';
import { isEngineError } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { identify, isAlive } from '../../daemon/base/kernel/process.ts';
import type { ProcessIdentity } from '../../daemon/base/kernel/process.ts';
import { sendSignal } from '../../daemon/base/kernel/pidfd.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/log.ts';
import { execArgv } from '../monitor/conmon-argv.ts';
import type { MonitorSettings } from '../monitor/conmon-argv.ts';
import { endMonitor } from '../monitor/monitor-pid.ts';
import { MonitorProcess } from '../monitor/monitor-process.ts';
import type { ConmonStdio } from '../monitor/stdio-channel.ts';
import type { TerminalSizes } from '../monitor/terminal-size.ts';
import type { Bundle } from '../runc/exec-root.ts';
import { runcFailure } from '../runc/failure.ts';
import { encodeSpec } from '../runc/spec-json.ts';
import type { OciProcess } from '../runc/spec-types.ts';

export interface ExecRequest {
  containerId: string;
  execId: string;
  process: OciProcess;
  stdin: boolean;
  consoleSize?: { height: number; width: number };
}

export interface ExecDeps {
  settings: MonitorSettings;
  temporary: string;
  /** The session's own directory. */
  bundle: Bundle;
  /** Opens the stdio of the conmon whose socket is at `path`. */
  connect(path: string, options: { acceptsInput: boolean; isProcessAlive(): boolean }): Promise<ConmonStdio>;
  terminals: TerminalSizes;
  log: Logger;
}

/** Exit code told when the monitor of a session was killed and took the true one with it: 128 + SIGKILL. */
const LOST_EXIT_CODE = 137;

/**
 * One more process in a running container: conmon starts it with `runc exec --detach` and watches it. runc in the
 * foreground would be 3 ms faster, but it does not end before every child that inherited the output has, so that
 * `exec sh -c 'server &'` would hang; and it would cost a Go process per session.
 */
export class ExecSession {
  readonly pid: number;
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable | null;
  readonly exited: Promise<number>;
  readonly #deps: ExecDeps;
  readonly #process: ProcessIdentity | undefined;

  /**
   * Starts the process; resolves when it runs. Throws EngineError with details.exitCode: invalid_argument 126 (cannot
   * execute) or 127 (no such command), conflict when the container does not run, else internal.
   */
  static async start(deps: ExecDeps, request: ExecRequest): Promise<ExecSession> {
    const { bundle } = deps;
    mkdirSync(bundle.path, { recursive: true, mode: 0o700 });
    let monitor: MonitorProcess | undefined;
    let stdio: ConmonStdio | undefined;
    try {
      const process = withConsoleSize(request);
      writeFileSync(bundle.config, encodeSpec(process), { mode: 0o600 });
      failpoint('runtime.exec.spawn');
      const argv = execArgv(deps.settings, {
        containerId: request.containerId,
        execId: request.execId,
        bundle,
        terminal: process.terminal,
        stdin: request.stdin,
      });
      monitor = await MonitorProcess.start(argv, {
        cwd: bundle.path,
        temporary: deps.temporary,
        stepwise: true,
      });
      monitor.proceed();
      await monitor.attachable(limits.launchTimeoutMs);
      let identity: ProcessIdentity | undefined;
      stdio = await deps.connect(bundle.attach, {
        acceptsInput: request.stdin,
        isProcessAlive: () => identity !== undefined && isAlive(identity),
      });
      failpoint('runtime.exec.attached');
      // Attached first, started then: not a byte of its output is missed.
      monitor.proceed();
      const { data, message } = await monitor.report(limits.launchTimeoutMs);
      if (data < 0) {
        throw runcFailure('exec', message ?? '');
      }
      identity = identify(data);
      failpoint('runtime.exec.started');
      return new ExecSession(deps, {
        pid: data,
        identity,
        terminal: process.terminal,
        stdin: request.stdin,
        monitor,
        stdio,
      });
    } catch (error) {
      stdio?.close();
      monitor?.[Symbol.dispose]();
      await monitor?.forked;
      await endMonitor(bundle);
      rmSync(bundle.path, { recursive: true, force: true });
      throw error;
    }
  }

  private constructor(
    deps: ExecDeps,
    started: {
      pid: number;
      /** Undefined when it has ended already. */
      identity: ProcessIdentity | undefined;
      terminal: boolean;
      stdin: boolean;
      monitor: MonitorProcess;
      stdio: ConmonStdio;
    },
  ) {
    this.#deps = deps;
    this.#process = started.identity;
    this.pid = started.pid;
    const output = demultiplex(started.stdio, { merged: started.terminal });
    this.stdout = output.stdout;
    this.stderr = output.stderr;
    this.stdin = started.stdin ? inputStream(started.stdio) : null;
    this.exited = this.#finish(started.monitor, output.drained);
  }

  resize(height: number, width: number): void {
    this.#deps.terminals.resize(this.#deps.bundle.control, { height, width });
  }

  /** Sends a signal to the process itself; nothing happens when it has ended. */
  kill(signal: number): void {
    if (this.#process) {
      sendSignal(this.#process, signal);
    }
  }

  async #finish(monitor: MonitorProcess, drained: Promise<void>): Promise<number> {
    try {
      const [exitCode] = await Promise.all([this.#exitCode(monitor), drained]);
      return exitCode;
    } finally {
      monitor[Symbol.dispose]();
      rmSync(this.#deps.bundle.path, { recursive: true, force: true });
    }
  }

  async #exitCode(monitor: MonitorProcess): Promise<number> {
    try {
      const { data } = await monitor.report(0);
      return data < 0 ? 255 : data;
    } catch (error) {
      if (!isEngineError(error)) {
        throw error;
      }
      this.#deps.log.warn({ pid: this.pid, err: error }, 'monitor of an exec session was killed');
      return LOST_EXIT_CODE;
    }
  }
}

function withConsoleSize({ process, consoleSize }: ExecRequest): OciProcess {
  return process.terminal && consoleSize ? { ...process, consoleSize } : process;
}

/** Two streams of one channel. They share its back-pressure: who does not read stderr holds up stdout as well. */
function demultiplex(
  stdio: ConmonStdio,
  { merged }: { merged: boolean },
): { stdout: Readable; stderr: Readable | null; drained: Promise<void> } {
  const gate = new Gate();
  const stdout = outputStream(gate);
  const stderr = merged ? null : outputStream(gate);
  const pump = async (): Promise<void> => {
    for await (const { stream, data } of stdio.output) {
      const target = stream === 'stderr' && stderr ? stderr : stdout;
      if (!target.destroyed && !target.push(data)) {
        await gate.opened();
      }
    }
    stdout.push(null);
    stderr?.push(null);
  };
  return { stdout, stderr, drained: pump() };
}

/** Where the pump waits until somebody reads on, or leaves. */
class Gate {
  #open: (() => void) | undefined;

  opened(): Promise<void> {
    return new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#open?.();
    this.#open = undefined;
  }
}

function outputStream(gate: Gate): Readable {
  const stream = new Readable({
    read: () => gate.open(),
    destroy: (error, callback) => {
      gate.open();
      callback(error);
    },
  });
  stream.on('error', () => {
    // Whoever destroyed it knows why; here it only means that nobody reads any more.
  });
  return stream;
}

function inputStream(stdio: ConmonStdio): Writable {
  return new Writable({
    write: (chunk: Buffer, _encoding, callback) => void settle(stdio.write(chunk), callback),
    final: (callback) => {
      stdio.endInput();
      callback();
    },
    destroy: (error, callback) => {
      // A client that vanished will send nothing more.
      stdio.endInput();
      callback(error);
    },
  });
}

async function settle(work: Promise<void>, callback: (error?: Error) => void): Promise<void> {
  let failure: Error | undefined;
  try {
    await work;
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
  }
  callback(failure);
}
