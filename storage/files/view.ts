/**
 * A container's files as the container sees them, given by descriptors, so that any thread of the process can walk them
 * and no path is used that a container could change. Names and paths are byte strings (storage/tar/names.ts).
 */
export interface FilesView {
  /** Directory (O_PATH) that is `/` inside. Mounts below it that the kernel knows of are crossed by themselves. */
  readonly root: number;
  /** Nothing of the root's own file system may be written to. */
  readonly isReadOnly: boolean;
  /** What lies over the root without being mounted there; parents before children. */
  readonly mounts: readonly ViewMount[];
  /** An empty directory that stands for those that only exist because something is mounted below them. */
  readonly empty: number;
}

/** A volume, bind or file of the engine's in a view. */
export interface ViewMount {
  /** Where, without links: what `locate` makes of the destination. */
  readonly path: string;
  /** Its root (O_PATH): a directory or a file. */
  readonly fd: number;
  readonly isReadOnly: boolean;
}

/** Bytes of a client's path. */
export function toBytes(path: string): string {
  return Buffer.from(path, 'utf8').toString('latin1');
}

/** A byte string as text for messages. */
export function toText(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
