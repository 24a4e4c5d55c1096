import { spawn } from 'node:child_process';
import { finished } from 'node:stream/promises';
import { Duplex } from 'node:stream';
import type { Readable } from 'node:stream';
import { errorText, internal } from '../../daemon/base/errors.ts';

/** One line of conmon's sync pipe: a pid, an exit code, or a negative number with the reason of a failure. */
export interface MonitorReport {
  data: number;
  message?: string;
}

export interface MonitorOptions {
  /** Working directory; conmon puts its `oom` file there. */
  cwd: string;
  /** Directory for its console socket. */
  temporary: string;
  /** An exec session that waits for `proceed()` before it starts conmon's work, and again once it is attachable. */
  stepwise: boolean;
}

/**
 * A conmon being started, as far as its parent talks with it: over pipes named in its environment.
 *
 * conmon forks, makes a session of its own and outlives us; the child seen here ends at once. It stays in our cgroup,
 * so a service manager must be told to end only the main process (systemd: KillMode=process). It is given nothing but
 * these pipes and PATH: every descriptor of ours is close-on-exec, and variables like NOTIFY_SOCKET would reach runc.
 */
export class MonitorProcess implements Disposable {
  /** Resolves once conmon has forked and written its number (or failed to start): from then on it can be ended. */
  readonly forked: Promise<void>;
  readonly #program: string;
  readonly #sync: LineReader;
  readonly #start: Duplex | undefined;
  readonly #attach: LineReader | undefined;
  readonly #stderr: Readable;
  #complaint = '';

  constructor(argv: readonly [string, ...string[]], options: MonitorOptions) {
    const [program, ...args] = argv;
    this.#program = program;
    const child = spawn(program, args, {
      cwd: options.cwd,
      // Out of our terminal's session from the first moment: Ctrl-C is for the daemon only.
      detached: true,
      env: {
        PATH: process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin',
        TMPDIR: options.temporary,
        _OCI_SYNCPIPE: '3',
        ...(options.stepwise ? { _OCI_STARTPIPE: '4', _OCI_ATTACHPIPE: '5' } : {}),
      },
      // Only pipes that conmon asks for: it would pass others on to runc.
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', ...(options.stepwise ? (['pipe', 'pipe'] as const) : [])],
    });
    this.forked = new Promise((resolve) => {
      child.once('exit', () => resolve());
      child.once('error', (error) => {
        this.#complaint = errorText(error);
        resolve();
      });
    });
    // Typed as a tuple of five; there are as many as were asked for.
    const ends: readonly unknown[] = child.stdio;
    this.#stderr = pipe(ends[2]);
    this.#stderr.on('data', (chunk: Buffer) => {
      this.#complaint += chunk.toString();
    });
    this.#sync = new LineReader(pipe(ends[3]));
    if (options.stepwise) {
      this.#start = pipe(ends[4]);
      this.#attach = new LineReader(pipe(ends[5]));
    }
  }

  /** Lets a stepwise conmon take its next step. */
  proceed(): void {
    this.#start?.write('0');
  }

  /** Resolves when the attach socket of an exec session is there. Throws EngineError internal if it fails to come. */
  async attachable(timeoutMs: number): Promise<void> {
    if ((await this.#attach?.next(timeoutMs)) === undefined) {
      throw await this.#silence(timeoutMs);
    }
  }

  /** The next report. Throws EngineError internal when conmon ends or `timeoutMs` (0 = for ever) pass without one. */
  async report(timeoutMs: number): Promise<MonitorReport> {
    const line = await this.#sync.next(timeoutMs);
    if (line === undefined) {
      throw await this.#silence(timeoutMs);
    }
    return parseReport(line);
  }

  /** Lets go of the pipes; conmon goes on. */
  [Symbol.dispose](): void {
    this.#sync.close();
    this.#start?.destroy();
    this.#attach?.close();
    this.#stderr.destroy();
  }

  async #silence(timeoutMs: number): Promise<Error> {
    if (!this.#sync.ended) {
      return internal(`${this.#program} gave no answer in ${timeoutMs} ms`, { details: { exitCode: 128 } });
    }
    // What it complained of may arrive after the end of its answers.
    await finished(this.#stderr, { writable: false }).catch(() => undefined);
    const reason = this.#complaint.trim();
    return internal(`${this.#program} ended without an answer${reason === '' ? '' : `: ${reason}`}`, {
      details: { exitCode: 128 },
    });
  }
}

/** Lines of a pipe, one at a time. */
class LineReader {
  readonly #source: Duplex;
  readonly #lines: string[] = [];
  #partial = '';
  #waiting: (() => void) | undefined;
  ended = false;

  constructor(source: Duplex) {
    this.#source = source;
    source.on('data', (chunk: Buffer) => {
      const lines = (this.#partial + chunk.toString()).split('\n');
      this.#partial = lines.pop() ?? '';
      this.#lines.push(...lines);
      this.#waiting?.();
    });
    source.once('close', () => {
      this.ended = true;
      this.#waiting?.();
    });
  }

  /** The next line; undefined at the end or when `timeoutMs` have passed. */
  async next(timeoutMs: number): Promise<string | undefined> {
    const wait = (): Promise<boolean> =>
      new Promise((resolve) => {
        const timer = timeoutMs === 0 ? undefined : setTimeout(() => resolve(false), timeoutMs);
        this.#waiting = () => {
          clearTimeout(timer);
          this.#waiting = undefined;
          resolve(true);
        };
      });
    while (this.#lines.length === 0 && !this.ended) {
      if (!(await wait())) {
        return undefined;
      }
    }
    return this.#lines.shift();
  }

  close(): void {
    this.#source.destroy();
  }
}

function parseReport(line: string): MonitorReport {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw internal(`conmon reported something unreadable: ${line}`, { cause: error });
  }
  if (typeof value === 'object' && value !== null && 'data' in value && typeof value.data === 'number') {
    const message = 'message' in value && typeof value.message === 'string' ? value.message : undefined;
    return message === undefined ? { data: value.data } : { data: value.data, message };
  }
  throw internal(`conmon reported something unexpected: ${line}`);
}

function pipe(end: unknown): Duplex {
  if (!(end instanceof Duplex)) {
    throw internal('a pipe to conmon could not be made');
  }
  end.on('error', () => {
    // EPIPE or ECONNRESET: conmon has ended; the report that fails to come tells.
  });
  return end;
}
