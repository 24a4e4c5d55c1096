import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { conflict, internal } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { readControl, writeControl } from './control-files.ts';
import type { CgroupLayout } from './detect.ts';

/** Whether a cgroup's own freezer is on. `changing` is what a daemon that died in the middle leaves. */
export type FreezerState = 'thawed' | 'changing' | 'frozen';

/** The kernel stops most processes at once; one that is just being forked takes a moment. */
const POLL_MS = 1;
const POLLS_BEFORE_THAW = 20;

/** The freezer of one cgroup: `freezer.state` of version 1, `cgroup.freeze` of version 2. Both act on what is below. */
export class Freezer {
  readonly #directory: string;
  readonly #version: 1 | 2;

  /** `relative` is the cgroup's path below the mount points. Throws internal when this host has no freezer. */
  constructor(layout: CgroupLayout, relative: string) {
    const mountPoint = layout.version === 2 ? layout.unified : layout.controllers.get('freezer');
    if (mountPoint === undefined || mountPoint === null) {
      throw internal('this host has no freezer: its cgroup controller is not mounted');
    }
    this.#directory = join(mountPoint, relative);
    this.#version = layout.version;
  }

  /** Throws internal, thawed again, when a process does not stop in time, and conflict when the cgroup is gone. */
  async freeze(): Promise<void> {
    const deadline = performance.now() + limits.freezeWaitMs;
    for (let attempt = 1; ; attempt += 1) {
      if (!this.#write(true)) {
        throw conflict('it is not running');
      }
      if (this.state() === 'frozen') {
        return;
      }
      if (performance.now() > deadline) {
        this.thaw();
        throw internal(`some of its processes did not stop within ${limits.freezeWaitMs} ms`);
      }
      if (attempt % POLLS_BEFORE_THAW === 0) {
        // A parent that waits in vfork(2) for a child which is frozen already never stops by itself (version 1).
        this.thaw();
      }
      await sleep(POLL_MS);
    }
  }

  thaw(): void {
    this.#write(false);
  }

  /** Its own state: below a frozen parent a cgroup that was not frozen itself is `thawed`. */
  state(): FreezerState {
    const [wanted, reached] =
      this.#version === 1
        ? [this.#read('freezer.self_freezing'), this.#read('freezer.state') === 'FROZEN']
        : [this.#read('cgroup.freeze'), /^frozen 1$/m.test(this.#read('cgroup.events'))];
    if (wanted !== '1') {
      return 'thawed';
    }
    return reached ? 'frozen' : 'changing';
  }

  #write(frozen: boolean): boolean {
    return this.#version === 1
      ? writeControl(join(this.#directory, 'freezer.state'), frozen ? 'FROZEN' : 'THAWED')
      : writeControl(join(this.#directory, 'cgroup.freeze'), frozen ? '1' : '0');
  }

  #read(name: string): string {
    return readControl(join(this.#directory, name))?.trim() ?? '';
  }
}
