import { closeSync, statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { sealedCopy } from '../../daemon/base/kernel/files/memfd.ts';
import type { Logger } from '../../daemon/base/logger.ts';

/** A program that stays where it is until this is disposed. */
export interface ProgramLease extends Disposable {
  readonly path: string;
}

/** Closed once it is not the newest and no process is about to execute it. */
interface Copy {
  fd: number;
  of: Stats;
  leases: number;
}

/**
 * runc, run from a sealed copy in memory.
 *
 * `runc init` refuses to run from a file that a container could reach and overwrite (CVE-2019-5736): it bind-mounts or
 * copies its own binary first, 1 to 3 ms of every create and exec. From a sealed memfd it goes on at once. runc's own
 * `memfd-bind` helper does the same for a whole host; this copy is the daemon's own, and shut with it.
 */
export class SealedBinary implements Disposable {
  readonly #path: string;
  readonly #log: Logger;
  #copy: Copy | undefined;
  #works = true;

  constructor(path: string, log: Logger) {
    this.#path = path;
    this.#log = log;
  }

  /**
   * The path to execute: of the copy (a new one when the program was replaced), or where none works its own. Dispose it
   * when the program runs: a conmon that was given the path executes it only after a while.
   */
  lease(): ProgramLease {
    const copy = this.#current();
    if (copy === undefined) {
      return { path: this.#path, [Symbol.dispose]: () => undefined };
    }
    copy.leases += 1;
    let isHeld = true;
    return {
      path: pathOf(copy.fd),
      [Symbol.dispose]: () => {
        copy.leases -= isHeld ? 1 : 0;
        isHeld = false;
        this.#closeUnused(copy);
      },
    };
  }

  [Symbol.dispose](): void {
    const copy = this.#copy;
    this.#copy = undefined;
    if (copy !== undefined) {
      this.#closeUnused(copy);
    }
  }

  #current(): Copy | undefined {
    const now = statSync(this.#path, { throwIfNoEntry: false });
    if (now === undefined || !this.#works) {
      return undefined;
    }
    if (this.#copy === undefined || !isSameFile(this.#copy.of, now)) {
      this[Symbol.dispose]();
      this.#copy = this.#make(now);
    }
    return this.#copy;
  }

  #closeUnused(copy: Copy): void {
    if (copy !== this.#copy && copy.leases === 0 && copy.fd >= 0) {
      // A process that executes the file keeps it.
      closeSync(copy.fd);
      copy.fd = -1;
    }
  }

  #make(of: Stats): Copy | undefined {
    try {
      const fd = sealedCopy(this.#path);
      // vm.memfd_noexec, or a security module: asked once, not at the first container.
      const trial = spawnSync(pathOf(fd), ['--version'], { stdio: 'ignore' });
      if (trial.status === 0) {
        return { fd, of, leases: 0 };
      }
      closeSync(fd);
      this.#log.debug({ err: trial.error }, 'runc does not run from memory; it is run from its file');
    } catch (error) {
      this.#log.debug({ err: error }, 'no copy of runc in memory; it is run from its file');
    }
    this.#works = false;
    return undefined;
  }
}

function isSameFile(one: Stats, other: Stats): boolean {
  return (
    one.ino === other.ino && one.dev === other.dev && one.size === other.size && one.mtimeMs === other.mtimeMs
  );
}

/** Another process's way to a descriptor of this one. */
function pathOf(fd: number): string {
  return `/proc/${process.pid}/fd/${fd}`;
}
