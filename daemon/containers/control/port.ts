/**
 * What the container domain needs of a running container's cgroup beyond its life: declared here, satisfied by
 * `runtime/cgroups`. Every method takes the container's id; a cgroup that is gone means that the container has ended.
 */

/** Whether a container's own freezer is on. `changing` is what a daemon that died in the middle leaves. */
export type FreezerState = 'thawed' | 'changing' | 'frozen';

export interface ContainerControl {
  /**
   * Stops every process of the container where it is. Throws EngineError internal, with the container going on, when
   * some process does not stop within `limits.freezeWaitMs` (uninterruptible sleep), and conflict when it has ended.
   */
  freeze(id: string): Promise<void>;
  /** Lets them go on. Not frozen, or gone, is not an error. */
  thaw(id: string): void;
  freezerState(id: string): FreezerState;
}
