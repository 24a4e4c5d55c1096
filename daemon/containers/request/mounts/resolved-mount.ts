import type { StringMap } from '../../../../api/types/maps.ts';

interface MountBase {
  /** Absolute and clean, inside the container. */
  destination: string;
  /** As shown by inspect; decides nothing any more. */
  mode: string;
  rw: boolean;
}

export interface BindMount extends MountBase {
  type: 'bind';
  /** Absolute path on the host. */
  source: string;
  propagation: string;
  /** Make the source a directory when it is missing (what Binds always did). */
  createMountpoint: boolean;
  /** Leave out what is mounted below the source. */
  nonRecursive: boolean;
  /** How far read-only reaches: all mounts below, if this kernel can; only the top; or all of them in any case. */
  readOnlyDepth: 'recursive-if-possible' | 'top' | 'recursive';
  /** Of the engine's own: inspection does not list it, and no other container gets it with this one's volumes. */
  isHidden?: true;
}

export interface VolumeMount extends MountBase {
  type: 'volume';
  name: string;
  /** The engine made up the name: the volume goes when the container is removed with its volumes. */
  anonymous: boolean;
  /** '' = whatever has a volume of this name, else the local one. */
  driver: string;
  driverOptions: StringMap;
  labels: StringMap;
  /** Leave a new volume empty instead of filling it from the image. */
  noCopy: boolean;
  /** Only this part of the volume is mounted, a relative path below its root; absent or '' = all of it. */
  subpath?: string;
}

export interface TmpfsMount extends MountBase {
  type: 'tmpfs';
  /** As for mount(8), complete. */
  options: string[];
  /** Of HostConfig.Tmpfs, which inspect does not list under Mounts. */
  isHidden: boolean;
}

/** The files of an image, which nobody can change. */
export interface ImageMount extends MountBase {
  type: 'image';
  /** As the client named it. */
  image: string;
  /** The one that had that name when the container was created. */
  imageId: string;
  /** Only this part of it is mounted, a relative path below its root; absent or '' = all of it. */
  subpath?: string;
}

/** One place of a container that is not part of its own layer. Destinations are unique in a spec. */
export type ResolvedMount = BindMount | VolumeMount | TmpfsMount | ImageMount;
