import { existsSync, readdirSync } from 'node:fs';
import type { ProcessIdentity } from '../../daemon/base/kernel/process.ts';
import type { CgroupManager } from '../cgroups/manager.ts';
import { cgroupsPathOf } from '../cgroups/paths.ts';
import type { ExecRoot } from './exec-root.ts';
import { readLaunchRecord } from './launch-record.ts';
import type { LaunchRecord } from './launch-record.ts';
import { recordedInit } from './state.ts';

/** A container that this daemon has launched. */
interface Launched {
  record: LaunchRecord;
  /** undefined = on its way. */
  init?: ProcessIdentity;
}

/** What is known of each container's launch: of those of this daemon from memory, of others what their files say. */
export class LaunchedContainers {
  readonly #root: ExecRoot;
  readonly #cgroups: CgroupManager;
  readonly #ours = new Map<string, Launched>();

  constructor(root: ExecRoot, cgroups: CgroupManager) {
    this.#root = root;
    this.#cgroups = cgroups;
  }

  note(id: string, launched: Launched): void {
    this.#ours.set(id, launched);
  }

  forget(id: string): void {
    this.#ours.delete(id);
  }

  record(id: string): LaunchRecord | undefined {
    return this.#ours.get(id)?.record ?? readLaunchRecord(this.#root.bundle(id).launch);
  }

  init(id: string): ProcessIdentity | undefined {
    return this.#ours.get(id)?.init ?? recordedInit(this.#root.state(id));
  }

  cgroupsPath(id: string): string {
    return this.record(id)?.cgroupsPath ?? cgroupsPathOf(this.#cgroups.driver, this.#cgroups.parent, id);
  }

  /** Those of earlier daemons whose exit nobody has taken note of, with their init. */
  *inherited(): Iterable<[id: string, init: ProcessIdentity]> {
    for (const id of readdirSync(this.#root.containers)) {
      const init = existsSync(this.#root.bundle(id).pidFile) ? recordedInit(this.#root.state(id)) : undefined;
      if (init !== undefined) {
        this.#cgroups.expect(this.cgroupsPath(id));
        yield [id, init];
      }
    }
  }
}
