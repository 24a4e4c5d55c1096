import { TarChunks } from '../layers/tar/chunks.ts';
import { EngineError, unreachable } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { changesOf, type Change, type ChangesRequest } from './changes.ts';
import { extract, type ExtractRequest } from './extract.ts';
import { Place } from './locate.ts';
import { TarOut } from './tar-out.ts';
import { treeBytes } from './tree-bytes.ts';
import type { FilesView } from './view.ts';

/** A place of a view that stays open until the job is done. */
export interface PlaceRef {
  fd: number;
  path: string;
}

export interface TarRequest {
  view: FilesView;
  place: PlaceRef;
  /** Name of the place itself in the tar; undefined = only what is below it, by names without anything in front. */
  name?: string;
}

/** What a worker thread does with containers' files. Descriptors belong to the caller and stay open meanwhile. */
export type ArchiveJob =
  | { kind: 'extract'; request: ExtractRequest }
  | { kind: 'tar'; request: TarRequest }
  | { kind: 'changes'; request: ChangesRequest }
  | { kind: 'sizes'; directories: readonly string[] };

export type ArchiveResult =
  | { kind: 'done' }
  | { kind: 'changes'; changes: Change[] }
  /** Bytes of each directory; null = it is not there. */
  | { kind: 'sizes'; bytes: (number | null)[] };

export interface JobControl {
  isCanceled(): boolean;
  /** Hands a piece of a tar over; false when nobody wants more. Blocks while the receiver is behind. */
  emit(chunk: Buffer): boolean;
}

/** Does a job, blocking its thread. */
export function runArchiveJob(job: ArchiveJob, control: JobControl): ArchiveResult {
  switch (job.kind) {
    case 'extract':
      failpoint('archives.extract.begin');
      extract(job.request, () => control.isCanceled());
      return { kind: 'done' };
    case 'tar':
      writeTar(job.request, control);
      return { kind: 'done' };
    case 'changes':
      return { kind: 'changes', changes: changesOf(job.request) };
    case 'sizes':
      return { kind: 'sizes', bytes: job.directories.map((directory) => treeBytes(directory)) };
    default:
      return unreachable(job);
  }
}

function writeTar({ view, place, name }: TarRequest, control: JobControl): void {
  const chunks = new TarChunks((chunk) => {
    if (!control.emit(chunk)) {
      throw new EngineError('canceled', 'writing a tar: canceled');
    }
  });
  using start = new Place({ ...place, isReadOnly: true, isMounted: false }, false);
  const out = new TarOut(view, chunks);
  failpoint('archives.tar.begin');
  if (name === undefined) {
    out.contents(start, '');
  } else {
    out.tree(start, name);
  }
  out.finish();
}
