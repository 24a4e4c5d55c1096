import type { BlobRange } from './source.ts';

export interface ApplyRequest {
  blob: BlobRange;
  /** An existing empty directory of ours; gets `diff` and `recipe`. */
  directory: string;
  /** Begins error messages: `layer sha256:12ab...`. */
  what: string;
  /** sha256:... of the uncompressed tar; undefined = not known, every content is right. */
  expectedDiffId?: string;
  /** sha256:... of the blob as it is stored. */
  expectedDigest?: string;
  /**
   * A directory of ours, on the same file system, that an overlay wrote to and that the blob was made of. Where it
   * holds what the blob says and nothing else it becomes the layer, and nothing is unpacked; else it goes before.
   */
  files?: string;
}

export interface AppliedLayer {
  diffId: string;
  digest: string;
  tarBytes: number;
  /** Bytes of all files' content. */
  contentBytes: number;
  /** Directories (byte strings) that the tar did not describe; `''` is the root. */
  implied: string[];
  warnings: string[];
}

/** What a caller on another thread sees and says while a layer is applied. */
export interface ApplyControl {
  isCanceled(): boolean;
  /** Bytes of the blob read so far. */
  progress(bytes: number): void;
}
