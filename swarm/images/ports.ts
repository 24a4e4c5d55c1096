import type { Readable } from 'node:stream';

/** The images of this host's engine, for other nodes of the swarm. */
export interface ImageStore {
  /** What an image must be made for to run on this host. */
  readonly platform: { os: string; architecture: string };
  /**
   * By what a task calls it: of several the one that is wanted, else that for this host. Undefined where there is none,
   * or not all of it.
   */
  find(image: string, wanted?: WantedImage): StoredImage | undefined;
}

/** The one of an id, or for a machine. */
export type WantedImage = { id: string } | { os: string; architecture: string };

export interface StoredImage {
  /** sha256:... */
  id: string;
  os: string;
  architecture: string;
  /** When it was given a name last; 0 = never. */
  taggedNano: bigint;
  /** Bytes of the layers' tars, bottom first. */
  describe(): ImageDescription;
  /** The tar of a layer, checked at its end. Destroying it ends the reading. Throws not_found for no such layer. */
  readLayer(position: number): Readable;
}

export interface ImageDescription {
  config: Buffer;
  /** Bytes of the layers' tars, bottom first. */
  layerBytes: number[];
}

/** What managers have, for the engine of a node. */
export interface ManagerImages {
  /**
   * Images that managers have under this name and that are made for this host, the one that was named last first. A
   * manager that does not answer in time has none.
   */
  find(image: string, signal: AbortSignal): Promise<OfferedImage[]>;
}

/** An image that managers have. What comes of it is to be checked: its configuration by the id, its layers by that. */
export interface OfferedImage {
  id: string;
  taggedNano: bigint;
  describe(signal: AbortSignal): Promise<ImageDescription>;
  /** Who has it. */
  holders: readonly ImageHolder[];
}

export interface ImageHolder {
  addr: string;
  /** The tar of a layer. Throws what the manager said, unavailable where it is lost. */
  readLayer(position: number, signal: AbortSignal): AsyncIterable<Buffer>;
}
