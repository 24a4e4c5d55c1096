import { closeSync, mkdtempSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { basename } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorText, internal, invariant } from '../../daemon/base/errors.ts';
import { runcEnvironment } from './conmon-argv.ts';
import { claimChild, expectChildren, reap } from '../../daemon/base/kernel/processes/children.ts';
import { makePipes, spawnSession } from '../../daemon/base/kernel/processes/spawn.ts';

/** One line of conmon's sync pipe: a pid, an exit code, or a negative number with the reason of a failure. */
export interface MonitorReport {
  data: number;
  message?: string;
}

export interface MonitorOptions {
  /** Working directory; conmon puts its `oom` file there. */
  cwd: string;
  /** Of a terminal: where a directory for conmon's console socket is made. */
  temporary?: string;
  /** An exec session that waits for `proceed()` before it starts conmon's work, and again once it is attachable. */
  stepwise: boolean;
  /**
   * Descriptors that conmon passes on as 0, 1 and 2 of what it starts (null = /dev/null); they stay the caller's. Its
   * own complaints go to the third as well, and only before that process runs.
   */
  passed?: { stdin: number | null; stdout: number; stderr: number };
}

/** How often a conmon that has just been started is asked whether its first process has ended. */
const FORK_POLL_MS = 2;

/**
 * A conmon being started, as far as its parent talks with it: over pipes named in its environment.
 *
 * conmon forks, makes a session of its own and outlives us; the child seen here ends at once. It stays in our cgroup,
 * so a service manager must be told to end only the main process (systemd: KillMode=process). It is given nothing but
 * these pipes and PATH: no other descriptor of ours, and variables like NOTIFY_SOCKET would reach runc.
 */
export class MonitorProcess implements Disposable {
  /** Resolves once conmon has forked and written its number (or failed to start): from then on it can be ended. */
  readonly forked: Promise<void>;
  readonly #program: string;
  readonly #sync: LineReader;
  readonly #start: Writable | undefined;
  readonly #attach: LineReader | undefined;
  readonly #stderr: Readable | undefined;
  #consoleFolder: string | undefined;
  #complaint = '';

  /** Starts conmon. Throws EngineError internal when there is no such program or no room for a process. */
  static async start(argv: readonly [string, ...string[]], options: MonitorOptions): Promise<MonitorProcess> {
    const [program, ...args] = argv;
    // It may end before we hear that it was started.
    using _expected = expectChildren();
    const { ownEnds, childEnds } = openPipes(options);
    let consoleFolder: string | undefined;
    let pid: number;
    try {
      // Of its own, and ours to remove: a conmon that is ended or fails while it waits for runc leaves the socket.
      consoleFolder = options.temporary === undefined ? undefined : mkdtempSync(`${options.temporary}/`);
      pid = await spawnSession({
        path: program,
        argv: [basename(program), ...args],
        cwd: options.cwd,
        env: {
          ...runcEnvironment(),
          ...(consoleFolder === undefined ? {} : { TMPDIR: consoleFolder }),
          _OCI_SYNCPIPE: '3',
          ...(options.stepwise ? { _OCI_STARTPIPE: '4', _OCI_ATTACHPIPE: '5' } : {}),
        },
        // Its log is bounded by the kernel (`limitFileSize`).
        ignoresFileSizeSignal: true,
        // Only pipes that conmon asks for: it would pass others on to runc.
        stdio: childEnds.stdio,
      });
    } catch (error) {
      Object.values(ownEnds).forEach((fd) => fd === undefined || closeSync(fd));
      removeFolder(consoleFolder);
      throw internal(`start ${program}: ${errorText(error)}`, { cause: error, details: { exitCode: 128 } });
    } finally {
      childEnds.ours.forEach((fd) => closeSync(fd));
    }
    return new MonitorProcess(program, pid, consoleFolder, ownEnds);
  }

  private constructor(program: string, pid: number, consoleFolder: string | undefined, ends: OwnEnds) {
    this.#program = program;
    this.#consoleFolder = consoleFolder;
    this.forked = untilEnded(pid);
    if (ends.stderr !== undefined) {
      this.#stderr = pipeEnd(ends.stderr, 'readable').on('data', (chunk: Buffer) => {
        this.#complaint += chunk.toString();
      });
    }
    this.#sync = new LineReader(pipeEnd(ends.sync, 'readable'));
    if (ends.start !== undefined && ends.attach !== undefined) {
      this.#start = pipeEnd(ends.start, 'writable');
      this.#attach = new LineReader(pipeEnd(ends.attach, 'readable'));
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
    const report = await this.reportOrEnd(timeoutMs);
    if (report === undefined) {
      throw await this.#silence(timeoutMs);
    }
    return report;
  }

  /** As `report`, but undefined when conmon ends without one: with `passed` that is how a start fails. */
  async reportOrEnd(timeoutMs: number): Promise<MonitorReport | undefined> {
    const line = await this.#sync.next(timeoutMs);
    if (line === undefined && !this.#sync.ended) {
      throw await this.#silence(timeoutMs);
    }
    // Whatever it tells, it has its terminal by then or will have none.
    this.#removeConsoleFolder();
    return line === undefined ? undefined : parseReport(line);
  }

  /** Lets go of the pipes; conmon goes on. Not before its first report, unless it is to fail. */
  [Symbol.dispose](): void {
    this.#removeConsoleFolder();
    this.#sync.close();
    this.#start?.destroy();
    this.#attach?.close();
    this.#stderr?.destroy();
  }

  #removeConsoleFolder(): void {
    removeFolder(this.#consoleFolder);
    this.#consoleFolder = undefined;
  }

  async #silence(timeoutMs: number): Promise<Error> {
    if (!this.#sync.ended) {
      return internal(`${this.#program} gave no answer in ${timeoutMs} ms`, { details: { exitCode: 128 } });
    }
    // What it complained of may arrive after the end of its answers.
    if (this.#stderr) {
      // A pipe that broke has said all it will say.
      await finished(this.#stderr, { writable: false }).catch(() => undefined);
    }
    const reason = this.#complaint.trim();
    return internal(`${this.#program} ended without an answer${reason === '' ? '' : `: ${reason}`}`, {
      details: { exitCode: 128 },
    });
  }
}

/** Our ends of conmon's pipes. */
type OwnEnds = Record<'stderr' | 'start' | 'attach', number | undefined> & { sync: number };

/** The pipes of a start; what conmon is given as 0, 1, 2, ..., and which of these descriptors are ours to close. */
function openPipes({ passed, stepwise }: MonitorOptions): {
  ownEnds: OwnEnds;
  childEnds: { stdio: (number | null)[]; ours: number[] };
} {
  const pipes = makePipes((passed ? 1 : 2) + (stepwise ? 2 : 0));
  const stderr = passed ? undefined : pipes.shift();
  const [sync, start, attach] = pipes;
  invariant(sync !== undefined, 'conmon reports through a pipe');
  const control = [sync.write, ...(start && attach ? [start.read, attach.write] : [])];
  return {
    ownEnds: { stderr: stderr?.read, sync: sync.read, start: start?.write, attach: attach?.read },
    childEnds: {
      stdio: [
        passed?.stdin ?? null,
        passed?.stdout ?? null,
        passed?.stderr ?? stderr?.write ?? null,
        ...control,
      ],
      ours: [...(stderr ? [stderr.write] : []), ...control],
    },
  };
}

function removeFolder(folder: string | undefined): void {
  if (folder !== undefined) {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Lines of a pipe, one at a time. */
class LineReader {
  readonly #source: Readable;
  readonly #lines: string[] = [];
  #partial = '';
  #waiting: (() => void) | undefined;
  ended = false;

  constructor(source: Readable) {
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

function pipeEnd(fd: number, side: 'readable' | 'writable'): Socket {
  const end = new Socket({ fd, readable: side === 'readable', writable: side === 'writable' });
  end.on('error', () => {
    // EPIPE or ECONNRESET: conmon has ended; the report that fails to come tells.
  });
  return end;
}

/** conmon's first process ends as soon as it has forked; only this daemon may reap it. */
async function untilEnded(pid: number): Promise<void> {
  using _claimed = claimChild(pid);
  while (reap(pid) === undefined) {
    await sleep(FORK_POLL_MS);
  }
}
