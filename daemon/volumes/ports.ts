import type { VolumePlugins } from '../../runtime/volume-plugins/volume-plugins.ts';
import type { VolumeMountPlan } from '../../storage/volumes/volume-mount.ts';

/** What volumes need of the disk; storage/volumes/local-volumes.ts is it. Names are checked before. */
export interface VolumeDirectories {
  mountpoint(name: string): string;
  /** Why volumes here cannot be limited in size; undefined = they can. */
  quotaObstacle(): string | undefined;
  /** `sizeBytes`: no more fits in; 0 = no limit. */
  create(name: string, sizeBytes: number): Promise<void>;
  /** Puts the limit of a volume that is there into force again, unless it has one. */
  limit(name: string, sizeBytes: number): Promise<void>;
  /** Takes `create` back, as far as it came; what holds anything stays. */
  undoCreate(name: string): Promise<void>;
  beginRemove(name: string): Promise<{ finish(): Promise<void>; undo(): Promise<void> }>;
  populate(name: string, sourceRoot: string, sourcePath: string): Promise<void>;
  /** Mounts a file system over the volume's own directory. Idempotent, as `unmount` is. */
  mount(name: string, plan: VolumeMountPlan): Promise<void>;
  unmount(name: string): Promise<void>;
  /** As `populate`, of a volume with a file system of its own, which is mounted at `mountpoint`. */
  populateAt(mountpoint: string, name: string, sourceRoot: string, sourcePath: string): Promise<void>;
  /** Of a volume that is gone: what of a `populateAt` that did not end is noted. */
  forgetFilling(name: string): Promise<void>;
  restore(known: ReadonlySet<string>, elsewhere: ReadonlySet<string>): Promise<void>;
}

/** Plugins that keep volumes; what they do and throw stands there. */
export type VolumePluginPort = Pick<VolumePlugins, keyof VolumePlugins>;
