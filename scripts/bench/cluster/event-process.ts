import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface ServerFigures {
  /** Delay of its loop: of 99 of 100 readings at most, and the longest, in milliseconds. */
  delayMs: number;
  worstMs: number;
  /** That are kept. */
  events: number;
  /** Of its database, with what is not in its place yet. */
  bytes: number;
}

/** A process that serves events, as a daemon does, on a disk of its own. */
export class EventProcess implements Disposable {
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #directory: string;

  private constructor(port: number, child: ChildProcess, directory: string) {
    this.port = port;
    this.#child = child;
    this.#directory = directory;
  }

  /** Keeps at most `max` events. */
  static async start(max: number): Promise<EventProcess> {
    const directory = mkdtempSync(join(tmpdir(), 'berth-bench-events-'));
    const script = join(import.meta.dirname, 'event-server.ts');
    const child = fork(script, [join(directory, 'berth.db'), String(max)], { execArgv: process.execArgv });
    const [port] = await once(child, 'message');
    return new EventProcess(port, child, directory);
  }

  /** Since the last call. */
  async figures(): Promise<ServerFigures> {
    const answered = once(this.#child, 'message');
    this.#child.send('figures');
    const [figures] = await answered;
    return figures;
  }

  [Symbol.dispose](): void {
    this.#child.kill('SIGKILL');
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
