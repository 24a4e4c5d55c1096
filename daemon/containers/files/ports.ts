import type { Readable } from 'node:stream';
import type { OverlayLayout } from '../../../runtime/mounts/kernel-mounts.ts';
import type { Change, ChangesRequest } from '../../../storage/files/changes.ts';
import type { ExtractRequest } from '../../../storage/files/extract.ts';
import type { TarRequest } from '../../../storage/files/jobs.ts';
import type { ChangesTar } from '../../../storage/files/tar-spools.ts';
import type { SpoolOptions } from '../../../storage/spool/spool.ts';
import type { OpenFile } from '../../base/kernel/files/safepath.ts';

/** What copying, export and changes need of the disk. Declared here, satisfied by `storage/files`. */
export interface ArchiveWorkers {
  extract(request: ExtractRequest, signal?: AbortSignal): Promise<void>;
  /** `done` is called once, when the request's descriptors may be closed. */
  tar(request: TarRequest, done: () => void): Readable;
  changes(request: ChangesRequest): Promise<Change[]>;
  sizes(directories: readonly string[]): Promise<(number | null)[]>;
}

/** A client's tar, decompressed, in a file without a name. */
export interface SpooledTar extends AsyncDisposable {
  readonly fd: number;
  readonly size: number;
}

export interface TarSpools {
  /** What was changed, as the tar of a layer. Rejects with nothing left. */
  ofChanges(request: ChangesRequest, signal: AbortSignal): Promise<ChangesTar>;
  /** Rejects with `canceled`, resource_exhausted, or what is wrong with the data; then nothing is left. */
  spool(source: Readable, options: SpoolOptions): Promise<SpooledTar>;
}

/** Detached mounts, out of sight of all namespaces; they go with their descriptors. Satisfied by `runtime/mounts`. */
export interface HiddenMounts {
  /** To be read; topmost first. */
  hiddenView(lowers: readonly string[]): OpenFile;
  /** To be written to; closing it waits for the disk. */
  hiddenOverlay(layout: OverlayLayout): OpenFile;
  /** As `hiddenOverlay`, of directories that are not needed after a power cut; closing it waits for nothing. */
  scratchOverlay(layout: OverlayLayout): OpenFile;
  /** What is mounted at a path, without what is mounted over it. */
  hiddenCopy(path: string): OpenFile;
}
