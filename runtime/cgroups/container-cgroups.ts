import { join } from 'node:path';
import { processesBelow, readSmall } from './control-files.ts';
import type { CgroupDriver, CgroupLayout } from './detect.ts';
import { Freezer } from './freezer.ts';
import type { FreezerState } from './freezer.ts';
import { changeLimits, settleLimits } from './limit-update.ts';
import type { LimitLocation, LimitUpdate } from './limit-update.ts';
import type { LimitChanges } from './limits.ts';
import { relativeCgroup } from './paths.ts';
import { parseHostCpu, parseInterfaces } from './sample.ts';
import type { ContainerSample } from './sample.ts';
import { readVersion1 } from './stats-v1.ts';
import { readVersion2 } from './stats-v2.ts';

export interface ContainerControlDeps {
  layout: CgroupLayout;
  driver: CgroupDriver;
  /** `linux.cgroupsPath` of a container's specification. */
  cgroupsPath(id: string): string;
  /** File that exists while an update of a container's limits is not complete. */
  limitsMarker(id: string): string;
}

/**
 * The cgroups of running containers, read and written in process. Implements `ContainerControl` of the container
 * domain. Killing and removing is CgroupManager's part.
 */
export class ContainerCgroups {
  readonly #deps: ContainerControlDeps;

  constructor(deps: ContainerControlDeps) {
    this.#deps = deps;
  }

  async freeze(id: string): Promise<void> {
    await this.#freezer(id).freeze();
  }

  thaw(id: string): void {
    this.#freezer(id).thaw();
  }

  freezerState(id: string): FreezerState {
    return this.#freezer(id).state();
  }

  changeLimits(id: string, changes: LimitChanges, tag: string): Promise<LimitUpdate> {
    return changeLimits(this.#limits(id), changes, tag);
  }

  settleLimits(id: string, tag: string): Promise<void> {
    return settleLimits(this.#limits(id), tag);
  }

  /** What it has used so far; undefined when it has ended. `pid` is one of its processes. About 0.2 ms. */
  sample(id: string, pid: number): ContainerSample | undefined {
    const { layout } = this.#deps;
    const relative = this.#relative(id);
    const used =
      layout.version === 2
        ? readVersion2((file) => readSmall(join(layout.unified ?? '', relative, file)))
        : readVersion1((controller, file) => {
            const mountPoint = layout.controllers.get(controller);
            return mountPoint === undefined ? undefined : readSmall(join(mountPoint, relative, file));
          });
    const interfaces = readSmall(`/proc/${pid}/net/dev`);
    return used && { ...used, interfaces: parseInterfaces(interfaces ?? '') };
  }

  /** All processors together: nanoseconds run or idled since boot, and how many are online (proc(5), stat). */
  hostCpu(): { totalNs: number; online: number } {
    return parseHostCpu(readSmall('/proc/stat') ?? '');
  }

  /** Numbers of its processes, also of those in cgroups that it has made below its own. */
  processes(id: string): number[] {
    const { layout } = this.#deps;
    // Version 1: any hierarchy will do; runc puts them into all.
    const [mountPoint = layout.unified ?? ''] = layout.version === 1 ? layout.controllers.values() : [];
    return processesBelow(join(mountPoint, this.#relative(id)));
  }

  #limits(id: string): LimitLocation {
    return {
      layout: this.#deps.layout,
      relative: this.#relative(id),
      marker: this.#deps.limitsMarker(id),
    };
  }

  #freezer(id: string): Freezer {
    return new Freezer(this.#deps.layout, this.#relative(id));
  }

  #relative(id: string): string {
    return relativeCgroup(this.#deps.driver, this.#deps.cgroupsPath(id));
  }
}
