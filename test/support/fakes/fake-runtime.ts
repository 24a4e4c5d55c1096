import { appendFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import type { ProcessIdentity } from '../../../daemon/base/kernel/processes/process.ts';
import type { ContainerRuntime } from '../../../daemon/containers/ports.ts';
import type { ExecProcess, StdioChannel } from '../../../daemon/containers/stdio/process-streams.ts';
import type { ExecRequest } from '../../../runtime/exec/exec-session.ts';
import type { OutputChunk } from '../../../runtime/monitor/conmon-stdio.ts';
import type { ContainerExit } from '../../../runtime/monitor/exit-watch.ts';
import type { LaunchRequest } from '../../../runtime/runc/launch-request.ts';

import { FakeControl } from './fake-control.ts';

interface FakeRun {
  process: ProcessIdentity;
  isBegun: boolean;
  channels: FakeChannel[];
  logPath: string | null;
}

/** Containers that exist only in memory: a test ends them with `exit`. */
export class FakeRuntime implements ContainerRuntime {
  readonly control = new FakeControl();
  readonly runs = new Map<string, FakeRun>();
  readonly records = new Map<string, ContainerExit>();
  readonly calls: string[] = [];
  readonly execs: FakeExec[] = [];
  /** What `launch` does before it succeeds. */
  onLaunch: (request: LaunchRequest) => void | Promise<void> = () => undefined;
  /** What `exec` does before it succeeds. */
  onExec: () => void | Promise<void> = () => undefined;
  /** Signals that end a container at once, as init's default action would. */
  fatalSignals = new Set([9, 15]);
  nowNano: () => bigint = () => BigInt(Date.now()) * 1_000_000n;
  #oomListeners = new Set<(id: string, what: { hasKilled: boolean }) => void>();
  #listeners = new Set<(report: ContainerExit) => void>();
  #pid = 1000;

  async launch(request: LaunchRequest): Promise<ProcessIdentity> {
    this.calls.push('launch');
    await this.onLaunch(request);
    this.#pid += 1;
    const process = { pid: this.#pid, startTime: String(this.#pid) };
    this.runs.set(request.id, { process, isBegun: false, channels: [], logPath: request.logPath });
    if (request.logPath !== null) {
      appendFileSync(request.logPath, '');
    }
    return process;
  }

  async begin(id: string): Promise<void> {
    this.calls.push('begin');
    const run = this.runs.get(id);
    if (run !== undefined) {
      run.isBegun = true;
    }
  }

  isWaiting(id: string): boolean {
    return this.runs.get(id)?.isBegun === false;
  }

  hasNeverRun(): boolean {
    return false;
  }

  isAlive(process: ProcessIdentity): boolean {
    return [...this.runs.values()].some((run) => run.process.startTime === process.startTime);
  }

  signal(process: ProcessIdentity, signal: number): void {
    this.calls.push(`signal ${signal}`);
    for (const [id, run] of this.runs) {
      if (run.process.startTime !== process.startTime || !this.fatalSignals.has(signal)) {
        continue;
      }
      this.control.whenThawed(id, () => this.exit(id, 128 + signal));
    }
  }

  /** The container ends: its record is there, listeners hear of it in a later turn. */
  exit(id: string, exitCode: number, details: { oomKilled?: boolean } = {}): void {
    const run = this.runs.get(id);
    if (run === undefined) {
      return;
    }
    this.runs.delete(id);
    run.channels.forEach((channel) => channel.finish());
    const report = { id, exitCode, finishedAtNano: this.nowNano(), oomKilled: details.oomKilled ?? false };
    this.records.set(id, report);
    setImmediate(() => this.tell(report));
  }

  tell(report: ContainerExit): void {
    this.#listeners.forEach((listener) => listener(report));
  }

  async killAll(id: string): Promise<void> {
    this.calls.push('killAll');
    this.exit(id, 137);
  }

  async cleanUp(id: string): Promise<void> {
    this.calls.push('cleanUp');
    this.runs.delete(id);
  }

  exitOf(id: string): ContainerExit | undefined {
    return this.records.get(id);
  }

  adopt(): void {
    // What runs here is in memory: nothing of it can be lost.
  }

  isMonitored(id: string): boolean {
    return this.runs.has(id);
  }

  forgetExit(id: string): void {
    this.records.delete(id);
  }

  onExit(listener: (report: ContainerExit) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  onOom(listener: (id: string, what: { hasKilled: boolean }) => void): Disposable {
    this.#oomListeners.add(listener);
    return { [Symbol.dispose]: () => this.#oomListeners.delete(listener) };
  }

  /** The kernel kills a process of it that is not its first. */
  oom(id: string): void {
    this.#oomListeners.forEach((listener) => listener(id, { hasKilled: true }));
  }

  async attach(id: string): Promise<StdioChannel> {
    const channel = new FakeChannel();
    this.runs.get(id)?.channels.push(channel);
    return channel;
  }

  async resize(id: string, height: number, width: number): Promise<void> {
    this.calls.push(`resize ${id.slice(0, 4)} ${height}x${width}`);
  }

  expectExec(): void {
    // Only a matter of speed.
  }

  async exec(request: ExecRequest): Promise<ExecProcess> {
    await this.onExec();
    const exec = new FakeExec(request);
    this.execs.push(exec);
    return exec;
  }

  async leftovers(): Promise<string[]> {
    return [...this.runs.keys()];
  }

  /** What the container writes, to its log (a piece, unless it ends with a newline) and to every channel. */
  write(id: string, stream: 'stdout' | 'stderr', text: string): void {
    const run = this.runs.get(id);
    if (run?.logPath) {
      const record = text.endsWith('\n') ? `F ${text}` : `P ${text}\n`;
      appendFileSync(run.logPath, `2026-01-01T00:00:00.000000000+00:00 ${stream} ${record}`);
    }
    run?.channels.forEach((channel) => channel.push({ stream, data: Buffer.from(text) }));
  }
}

/** One client's connection; a test reads `input` and pushes output. */
export class FakeChannel implements StdioChannel {
  input = '';
  isInputOver = false;
  isClosed = false;
  readonly output: AsyncIterable<OutputChunk>;
  readonly #stream = new PassThrough({ objectMode: true });

  constructor() {
    this.output = this.#stream;
  }

  push(chunk: OutputChunk): void {
    this.#stream.write(chunk);
  }

  finish(): void {
    this.#stream.end();
  }

  async write(data: Buffer): Promise<void> {
    this.input += data.toString();
  }

  endInput(): void {
    this.isInputOver = true;
  }

  close(): void {
    this.isClosed = true;
    this.#stream.end();
  }
}

/** A command that a test writes for and ends. */
export class FakeExec implements ExecProcess {
  readonly pid = 4711;
  readonly request: ExecRequest;
  readonly stdin: PassThrough | null;
  readonly stdout = new PassThrough();
  readonly stderr: PassThrough | null;
  readonly exited: Promise<number>;
  readonly sizes: string[] = [];
  #settle!: (exitCode: number) => void;

  constructor(request: ExecRequest) {
    this.request = request;
    this.stdin = request.stdin ? new PassThrough() : null;
    this.stderr = request.process.terminal ? null : new PassThrough();
    this.exited = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  end(exitCode: number): void {
    this.stdout.end();
    this.stderr?.end();
    this.#settle(exitCode);
  }

  resize(height: number, width: number): void {
    this.sizes.push(`${height}x${width}`);
  }

  kill(): void {
    this.end(137);
  }

  async killTree(): Promise<void> {
    this.end(137);
  }
}
