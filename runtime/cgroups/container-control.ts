import type { CgroupDriver, CgroupLayout } from './detect.ts';
import { Freezer } from './freezer.ts';
import type { FreezerState } from './freezer.ts';
import { relativeCgroup } from './paths.ts';

export interface ContainerControlDeps {
  layout: CgroupLayout;
  driver: CgroupDriver;
  /** `linux.cgroupsPath` of a container's specification. */
  cgroupsPath(id: string): string;
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

  #freezer(id: string): Freezer {
    return new Freezer(this.#deps.layout, this.#relative(id));
  }

  #relative(id: string): string {
    return relativeCgroup(this.#deps.driver, this.#deps.cgroupsPath(id));
  }
}
