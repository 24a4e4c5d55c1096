import type { CgroupDriver, CgroupLayout } from './detect.ts';
import { Freezer } from './freezer.ts';
import type { FreezerState } from './freezer.ts';
import { changeLimits, settleLimits } from './limit-update.ts';
import type { LimitPlace } from './limit-update.ts';
import type { LimitChanges } from './limits.ts';
import { relativeCgroup } from './paths.ts';

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

  changeLimits(id: string, changes: LimitChanges, tag: string): ReturnType<typeof changeLimits> {
    return changeLimits(this.#limits(id), changes, tag);
  }

  settleLimits(id: string, tag: string): Promise<void> {
    return settleLimits(this.#limits(id), tag);
  }

  #limits(id: string): LimitPlace {
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
