import type { Readable } from 'node:stream';
import type { RegistryBlob } from '../../../../api/types/hub/registry.ts';

/**
 * Where the bytes are: blobs by digest, each whole and never changed, and uploads that become one. What is in it says
 * nothing about who may have it: that is in the records. Digests are `sha256:<hexadecimal>`.
 */
export interface BlobFiles {
  /** Undefined = there is none. */
  size(digest: string): Promise<number | undefined>;
  open(digest: string): Promise<RegistryBlob | undefined>;
  /** For what fits into memory: manifests, configurations. */
  read(digest: string): Promise<Buffer | undefined>;
  /** On the disk, for good, when it resolves. Throws resource_exhausted when the disk is about to fill. */
  put(digest: string, bytes: Buffer): Promise<void>;
  /** True = it was there. */
  remove(digest: string): Promise<boolean>;
  digests(): Promise<string[]>;

  /** A blob that comes from elsewhere. Throws resource_exhausted. */
  createIncoming(blob: { digest: string; size: number }): Promise<IncomingFile>;

  /** A new one, empty. Throws resource_exhausted. */
  createUpload(id: string): Promise<UploadFile>;
  /** One of an earlier daemon; undefined = there is none. */
  findUpload(id: string): Promise<UploadFile | undefined>;
  uploads(): Promise<{ id: string; size: number; changedMs: number }[]>;
}

/** Used by one at a time. */
export interface UploadFile {
  /** Bytes on the disk, also after a failed `append`. */
  readonly size: number;
  /**
   * Appends all of a stream; throws what it throws, `canceled` where it ends early, resource_exhausted, and what `grow`
   * throws, which is told the size before it is reached.
   */
  append(bytes: Readable, grow: (size: number) => void): Promise<void>;
  /** Of all bytes. They are not read again, but after a restart or a failure. */
  digest(): Promise<string>;
  /** Makes it a blob, for good when it resolves. */
  publish(digest: string): Promise<void>;
  remove(): Promise<void>;
}

/** A blob that comes from elsewhere, and may be read meanwhile. Closed when nobody reads it any more. */
export interface IncomingFile extends AsyncDisposable {
  append(piece: Buffer): Promise<void>;
  /** Makes it a blob, for good when it resolves. Throws unavailable where its digest is another one. */
  publish(): Promise<void>;
  /** No more will come: its readers get the error, and nothing is kept. */
  fail(error: Error): Promise<void>;
  /** Bytes from `start` to `end`, both included, as they come. */
  stream(start: number, end: number): Readable;
}
