import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { existsSync } from 'node:fs';
import { TestDaemon, type TestDaemonOptions } from '../engine/daemon.ts';
import { until } from '../engine/http.ts';
import { bundledProgram } from '../bundled-program.ts';
import { RemoteExecutor } from './remote-executor.ts';

const PROGRAM = path.join(import.meta.dirname, 'task-daemon.ts');

/** A berthd with busybox, and its executor. */
export class TaskDaemon implements AsyncDisposable {
  readonly daemon: TestDaemon;
  readonly #socket: string;
  executor: RemoteExecutor;

  private constructor(daemon: TestDaemon, socket: string) {
    this.daemon = daemon;
    this.#socket = socket;
    this.executor = new RemoteExecutor(socket);
  }

  static async make(options: TestDaemonOptions = {}): Promise<TaskDaemon> {
    const socket = `/tmp/berth-test-tasks-${process.pid}.sock`;
    const daemon = await TestDaemon.start({
      ...options,
      program: await bundledProgram(PROGRAM),
      env: { ...options.env, TASK_SOCKET: socket },
    });
    await daemon.loadBusybox();
    return new TaskDaemon(daemon, socket);
  }

  /** The daemon dies and another one starts. */
  async restart(): Promise<void> {
    await this.daemon.kill9();
    this.executor[Symbol.dispose]();
    await this.daemon.up({ TASK_SOCKET: this.#socket });
    await until('the socket of tasks', () => existsSync(this.#socket));
    this.executor = new RemoteExecutor(this.#socket);
  }

  /** Writes the exit code that the task's command waits for. */
  async end(taskId: string, exitCode: number): Promise<void> {
    await this.exec(taskId, 'sh', '-c', `echo ${exitCode} > /end.new; mv /end.new /end`);
  }

  /** Runs a command in a task's container. */
  async exec(taskId: string, ...Cmd: string[]): Promise<void> {
    const { http } = this.daemon;
    const { Id } = await http.ok<{ Id: string }>('POST', `/containers/web.1.${taskId}/exec`, { Cmd });
    await http.ok('POST', `/exec/${Id}/start`, { Detach: true });
    await sleep(20);
  }

  async starts(taskId: string): Promise<number> {
    const filters = JSON.stringify({ container: [`web.1.${taskId}`], event: ['start'] });
    const { text } = await this.daemon.http.request(
      'GET',
      `/events?since=0&until=${Math.ceil(Date.now() / 1000)}&filters=${encodeURIComponent(filters)}`,
    );
    return text.split('\n').filter(Boolean).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.executor[Symbol.dispose]();
    await this.daemon[Symbol.asyncDispose]();
  }
}
