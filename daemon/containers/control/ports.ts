/**
 * What the container domain needs of a running container's cgroup beyond its life: declared here, satisfied by
 * `runtime/cgroups`. Every method takes the container's id; a cgroup that is gone means that the container has ended.
 */
import type { FreezerState } from '../../../runtime/cgroups/freezer.ts';
import type { LimitUpdate } from '../../../runtime/cgroups/limit-update.ts';
import type { ContainerSample, HostCpu } from '../../../runtime/cgroups/sample.ts';
import type { LimitChanges } from '../../../runtime/cgroups/limits.ts';

export interface ContainerControl {
  /**
   * Stops every process of the container where it is. Throws EngineError internal, with the container going on, when
   * some process does not stop within `limits.freezeWaitMs` (uninterruptible sleep), and conflict when it has ended.
   */
  freeze(id: string): Promise<void>;
  /** Lets them go on. Not frozen, or gone, is not an error. */
  thaw(id: string): void;
  freezerState(id: string): FreezerState;

  /**
   * Puts limits in force: all of them, or none when it throws (internal, with what the kernel said). `tag` names the
   * specification they belong to, for `settleLimits` of a later daemon. A container that has ended is not an error.
   */
  changeLimits(id: string, changes: LimitChanges, tag: string): Promise<LimitUpdate>;
  /** Undoes what a daemon left that died within an update, unless the database has the specification `tag`. */
  settleLimits(id: string, tag: string): Promise<void>;

  /** What it has used so far; undefined when it has ended. `pid` is one of its processes. Takes a fraction of a ms. */
  sample(id: string, pid: number): ContainerSample | undefined;
  /** The processors of the host, for comparison. */
  hostCpu(): HostCpu;
  /** Numbers of its processes. Empty when it has ended. */
  processes(id: string): number[];
}
