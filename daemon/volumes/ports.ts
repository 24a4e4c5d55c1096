import type { VolumeMountPlan } from './mount-options.ts';

/** What volumes need of the disk; storage/volumes/local-volumes.ts is it. Names are checked before. */
export interface VolumeDirectories {
  mountpoint(name: string): string;
  create(name: string): Promise<void>;
  /** Takes `create` back, as far as it came; what holds anything stays. */
  undoCreate(name: string): Promise<void>;
  beginRemove(name: string): Promise<{ finish(): Promise<void>; undo(): Promise<void> }>;
  populate(name: string, sourceRoot: string, sourcePath: string): Promise<void>;
  /** Mounts a file system over the volume's own directory. Idempotent, as `unmount` is. */
  mount(name: string, plan: VolumeMountPlan): Promise<void>;
  unmount(name: string): Promise<void>;
  /** As `populate`, of one that is mounted. */
  populateMounted(name: string, sourceRoot: string, sourcePath: string): Promise<void>;
  restore(known: ReadonlySet<string>): Promise<void>;
}
