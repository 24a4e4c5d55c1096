import type { VolumeRow } from '../../storage/database/rows.ts';

export type Volume = Pick<VolumeRow, 'name' | 'driver' | 'options'>;

/** A volume being removed. `undo` until its row is gone, then `finish`. */
export interface VolumeRemoval {
  /** What cannot be undone, where the driver has such a thing: after it nothing keeps the row. */
  destroy?(): Promise<void>;
  finish(): Promise<void>;
  undo(): Promise<void>;
}

/**
 * What keeps the contents of volumes. The caller has checked names and keeps one operation per volume at a time; a row
 * is written after `create` and deleted after `beginRemove`.
 */
export interface VolumeDriver {
  /** Throws what is wrong with a request for a new volume, before anything is made. */
  check(name: string, options: Readonly<Record<string, string>>): void;
  /** `isOurName`: the engine invented the name, so no other volume has it and no client will ask for it. */
  create(volume: Volume, options: { isOurName: boolean }): Promise<void>;
  /** Takes `create` back, as far as it came. */
  undoCreate(volume: Volume): Promise<void>;
  beginRemove(volume: Volume): Promise<VolumeRemoval>;
  /** Where containers find the volume, as far as it is known; '' = nowhere yet. */
  mountpoint(volume: Volume): string;
  /** From here on the volume can be used at the path answered. Idempotent for a holder, as `release` is. */
  acquire(volume: Volume, holder: string): Promise<string>;
  release(volume: Volume, holder: string): Promise<void>;
  /** Releases what is not used any more. `exceptHolder` is about to release it. */
  settle(volume: Volume, exceptHolder?: string): Promise<void>;
  /** Fills an empty volume from a directory of a container's file system. */
  populate(volume: Volume, sourceRoot: string, sourcePath: string): Promise<void>;
}
