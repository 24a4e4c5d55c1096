import { spawn } from 'node:child_process';
import { constants as flags, existsSync } from 'node:fs';
import { chmod, mkdir, open, readFile, realpath, rm, stat, truncate } from 'node:fs/promises';
import { constants } from 'node:os';
import path from 'node:path';
import type { Clock } from '../../../daemon/base/clock.ts';
import { withTimeout } from '../../../daemon/base/concurrency/timeout.ts';
import { failedPrecondition, invariant } from '../../../daemon/base/errors.ts';
import { claimChild } from '../../../daemon/base/kernel/processes/children.ts';
import { sendSignal } from '../../../daemon/base/kernel/processes/pidfd.ts';
import { identify, isAlive } from '../../../daemon/base/kernel/processes/process.ts';
import type { ProcessIdentity } from '../../../daemon/base/kernel/processes/process.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { findMember, writePidFile } from './pid-file.ts';
import { etcdArguments, SOCKET_NAME } from './settings.ts';
import type { MemberSettings } from './settings.ts';

const LOG_FILE = 'etcd.log';
/** Appended to, so that it can be cut while it is written. */
const LOG_FLAGS = flags.O_WRONLY | flags.O_CREAT | flags.O_TRUNC | flags.O_APPEND;
const LOG_LOOK_MS = 60_000;
/** How often a member that is not our child is looked at; its connections say sooner when it is gone. */
const LOOK_MS = 250;
/** Written back to a client where a member does not come up. */
const LOG_TAIL_BYTES = 500;

interface Deps {
  clock: Clock;
  /** The program. */
  etcd: string;
  /** For socket, pid file and log: root's alone, short (a socket's path has 107 bytes), on a tmpfs. */
  runDirectory: string;
}

/**
 * This manager's etcd: a process in a session of its own that outlives the daemon, as conmon does, so that replacing
 * the daemon costs no majority. The next daemon adopts it.
 */
export class EtcdProcess {
  readonly #deps: Deps;
  readonly process: ProcessIdentity;
  /** True where an earlier daemon started it. */
  readonly adopted: boolean;
  /** Resolves when the process has ended, however. */
  readonly ended: Promise<void>;

  private constructor(deps: Deps, process: ProcessIdentity, child: Promise<void> | undefined) {
    this.#deps = deps;
    this.process = process;
    this.adopted = child === undefined;
    this.ended = child ?? this.#watched();
    this.#boundLog();
  }

  /** Where it takes calls. */
  get socket(): string {
    return path.join(this.#deps.runDirectory, SOCKET_NAME);
  }

  /**
   * Starts the member, or adopts the one that runs here. One that runs with other settings is stopped first. Resolves
   * once the process is there; whether it answers is its channel's matter.
   */
  static async start(given: Deps, settings: MemberSettings): Promise<EtcdProcess> {
    await mkdir(given.runDirectory, { recursive: true, mode: 0o700 });
    await chmod(given.runDirectory, 0o700);
    const deps = { ...given, runDirectory: await realpath(given.runDirectory) };
    const argv = [deps.etcd, ...etcdArguments(settings)];
    const running = await findMember(deps.runDirectory);
    if (running !== undefined) {
      const adopted = new EtcdProcess(deps, running.process, undefined);
      if (running.argv?.join('\0') === argv.join('\0')) {
        return adopted;
      }
      await adopted.stop();
    }
    await mkdir(settings.dataDirectory, { recursive: true, mode: 0o700 });
    // One that was killed leaves its socket, and etcd does not listen on a name that is there.
    await rm(path.join(deps.runDirectory, SOCKET_NAME), { force: true });
    return EtcdProcess.#spawn(deps, argv);
  }

  /** The member that an earlier daemon left running, with whatever settings. */
  static async adopt(deps: Deps): Promise<EtcdProcess | undefined> {
    if (!existsSync(deps.runDirectory)) {
      return undefined;
    }
    const running = await findMember(await realpath(deps.runDirectory));
    return running === undefined ? undefined : new EtcdProcess(deps, running.process, undefined);
  }

  /** Ends it: politely, so that a leader hands over, then for sure. */
  async stop(graceMs: number = limits.swarmStoreStopMs): Promise<void> {
    sendSignal(this.process, constants.signals.SIGTERM);
    if (!(await withTimeout(this.#deps.clock, this.ended, graceMs))) {
      await this.kill();
    }
  }

  async kill(): Promise<void> {
    sendSignal(this.process, constants.signals.SIGKILL);
    await this.ended;
  }

  /** What it said last: the reason why it ended. */
  async lastWords(): Promise<string> {
    const text = await readFile(path.join(this.#deps.runDirectory, LOG_FILE), 'utf8');
    return text.trim().slice(-LOG_TAIL_BYTES);
  }

  static async #spawn(deps: Deps, argv: readonly string[]): Promise<EtcdProcess> {
    const log = await open(path.join(deps.runDirectory, LOG_FILE), LOG_FLAGS, 0o600);
    try {
      const [file = '', ...rest] = argv;
      const child = spawn(file, rest, {
        cwd: deps.runDirectory,
        // A session of its own: signals to the daemon's group are not for it.
        detached: true,
        stdio: ['ignore', 'ignore', log.fd],
        env: environment(),
      });
      const ended = new Promise<void>((resolve) => {
        child.once('exit', () => resolve());
        child.once('error', () => resolve());
      });
      const identity = child.pid === undefined ? undefined : identify(child.pid);
      if (child.pid === undefined || identity === undefined) {
        await ended;
        throw failedPrecondition(`start ${file}: it is not installed, or ended at once`);
      }
      const claimed = claimChild(child.pid);
      child.unref();
      const process = new EtcdProcess(
        deps,
        identity,
        ended.finally(() => claimed[Symbol.dispose]()),
      );
      await writePidFile(deps.runDirectory, { process: identity, argv }).catch(async (error: unknown) => {
        await process.kill();
        throw error;
      });
      return process;
    } finally {
      await log.close();
    }
  }

  /** etcd tells each slow call: on a machine that is always busy the file would fill the disk. */
  #boundLog(): void {
    this.#deps.clock.setTimeout(() => {
      const file = path.join(this.#deps.runDirectory, LOG_FILE);
      void cutFile(file)
        .finally(() => isAlive(this.process) && this.#boundLog())
        .catch(() => {
          // It was removed with its directory: there is nothing to bound.
        });
    }, LOG_LOOK_MS);
  }

  #watched(): Promise<void> {
    const { promise, resolve } = withResolvers();
    const look = (): void => {
      if (isAlive(this.process)) {
        this.#deps.clock.setTimeout(look, LOOK_MS);
      } else {
        resolve();
      }
    };
    look();
    return promise;
  }
}

/** Throws failed_precondition where the program is not to be found. */
export function checkInstalled(etcd: string): void {
  const folders = path.isAbsolute(etcd) ? [''] : (process.env['PATH'] ?? '').split(':');
  if (!folders.some((folder) => existsSync(path.join(folder, etcd)))) {
    throw failedPrecondition(
      `a manager of a swarm needs ${etcd}, which is not installed (Debian: etcd-server)`,
    );
  }
}

/** Removes what a member knew. A member that lost its data must come back as another one, under a new id. */
export async function wipeMember(settings: Pick<MemberSettings, 'dataDirectory'>): Promise<void> {
  invariant(path.isAbsolute(settings.dataDirectory), 'the data directory is an absolute path');
  await rm(settings.dataDirectory, { recursive: true, force: true });
}

async function cutFile(file: string): Promise<void> {
  if ((await stat(file)).size > limits.swarmStoreLogBytesMax) {
    await truncate(file);
  }
}

/** etcd takes settings from variables too: it gets none of the daemon's. 3.4 wants to be asked twice on arm64. */
function environment(): Record<string, string> {
  return {
    // By which the program is found.
    PATH: process.env['PATH'] ?? '',
    ...(process.arch === 'arm64' && { ETCD_UNSUPPORTED_ARCH: 'arm64' }),
  };
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
