import { existsSync, readdirSync } from 'node:fs';
import type { ProcessIdentity } from '../../daemon/base/kernel/processes/process.ts';
import type { CgroupManager } from '../cgroups/cgroup-manager.ts';
import { cgroupsPathOf } from '../cgroups/paths.ts';
import type { ExecRoot } from './exec-root.ts';
import { readLaunchRecord } from './launch-record.ts';
import type { LaunchRecord } from './launch-record.ts';
import { readInit } from './other-runtimes.ts';
import { recordedInit } from './state.ts';

/** A container that this daemon has launched. */
interface Launched {
  /** undefined = its file is gone, with the rest of what was kept of it. */
  record?: LaunchRecord;
  /** undefined = on its way. */
  init?: ProcessIdentity;
}

/** What is known of each container's launch: of those of this daemon from memory, of others what their files say. */
export class LaunchedContainers {
  readonly #root: ExecRoot;
  readonly #cgroups: CgroupManager;
  readonly #ours = new Map<string, Launched>();
  /** Inits of containers of other runtimes than runc. */
  readonly #others = new Map<number, string>();

  constructor(root: ExecRoot, cgroups: CgroupManager) {
    this.#root = root;
    this.#cgroups = cgroups;
  }

  note(id: string, launched: Launched): void {
    this.#ours.set(id, launched);
    if (launched.record?.runtime !== undefined && launched.init !== undefined) {
      this.#others.set(launched.init.pid, id);
    }
  }

  forget(id: string): void {
    const pid = this.#ours.get(id)?.init?.pid ?? -1;
    this.#ours.delete(id);
    if (this.#others.get(pid) === id) {
      this.#others.delete(pid);
    }
  }

  /** The container of another runtime than runc whose init this is. */
  otherWith({ pid }: ProcessIdentity): string | undefined {
    return this.#others.get(pid);
  }

  record(id: string): LaunchRecord | undefined {
    return this.#ours.get(id)?.record ?? readLaunchRecord(this.#root.bundle(id).launch);
  }

  init(id: string): ProcessIdentity | undefined {
    return this.#ours.get(id)?.init ?? this.#recordedInit(id);
  }

  cgroupsPath(id: string): string {
    return this.record(id)?.cgroupsPath ?? cgroupsPathOf(this.#cgroups.driver, this.#cgroups.parent, id);
  }

  /** Those of earlier daemons whose exit was not told yet, with their init. */
  *inherited(): Iterable<[id: string, init: ProcessIdentity]> {
    for (const id of readdirSync(this.#root.containers)) {
      const init = existsSync(this.#root.bundle(id).pidFile) ? this.#recordedInit(id) : undefined;
      if (init !== undefined) {
        this.#cgroups.expect(this.cgroupsPath(id));
        const record = this.record(id);
        if (record?.runtime !== undefined) {
          this.note(id, { record, init });
        }
        yield [id, init];
      }
    }
  }

  #recordedInit(id: string): ProcessIdentity | undefined {
    return this.record(id)?.runtime === undefined
      ? recordedInit(this.#root.state(id))
      : readInit(this.#root.bundle(id).init);
  }
}
