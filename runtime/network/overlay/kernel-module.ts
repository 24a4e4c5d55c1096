import { spawnSync } from 'node:child_process';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import type { Logger } from '../../../daemon/base/logger.ts';

/** A module that takes longer hangs; a load takes some milliseconds. */
const LOAD_MS = 5_000;
/** A host that does not have it now may have it later: a package was installed, or somebody took it out. */
const EVERY_MS = 60_000;

/** A module that the kernel does not load by itself when it is needed. */
export class KernelModule {
  readonly #name: string;
  readonly #program: string;
  readonly #log: Logger;
  readonly #now: () => number;
  #triedAt: number | undefined;

  /** `program` is called as modprobe(8) is. */
  constructor(name: string, deps: { log: Logger; program?: string; now?: () => number }) {
    this.#name = name;
    this.#program = deps.program ?? 'modprobe';
    this.#log = deps.log;
    this.#now = deps.now ?? ((): number => performance.now());
  }

  /**
   * Loads it, once a minute at most. True when it has been loaded. Blocks the thread: networks are opened in one go,
   * and a host needs this once. What fails is logged: a kernel without modules, a host that forbids this one.
   */
  load(): boolean {
    if (this.#triedAt !== undefined && this.#now() - this.#triedAt < EVERY_MS) {
      return false;
    }
    failpoint('overlay.open.module');
    this.#triedAt = this.#now();
    const { status, error, stderr } = spawnSync(this.#program, [this.#name], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin' },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: LOAD_MS,
      killSignal: 'SIGKILL',
    });
    if (status === 0) {
      this.#log.info({ module: this.#name }, 'loaded a module into the kernel');
      return true;
    }
    const why = error?.message ?? (stderr.trim() || `exit code ${status}`);
    this.#log.warn({ module: this.#name, err: why }, 'a module could not be loaded into the kernel');
    return false;
  }
}
