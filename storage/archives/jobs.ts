import { splitName } from '../layers/tar/names.ts';
import { TarChunks } from '../layers/tar/chunks.ts';
import { EngineError, unreachable } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { changesOf, DELETED, type Change, type ChangesRequest } from './changes.ts';
import { extract, type ExtractRequest } from './extract.ts';
import { locate, Place } from './locate.ts';
import { removeTree } from './remove-tree.ts';
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
  /** A tar of the changes as an image layer has them, deletions as whiteouts. */
  | { kind: 'layer'; request: ChangesRequest }
  | { kind: 'changes'; request: ChangesRequest }
  | { kind: 'sizes'; directories: readonly string[] }
  /** Deletes one of the engine's own directories. */
  | { kind: 'remove'; path: string };

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
    case 'layer':
      writeLayer(job.request, control);
      return { kind: 'done' };
    case 'changes':
      return { kind: 'changes', changes: changesOf(job.request) };
    case 'sizes':
      return { kind: 'sizes', bytes: job.directories.map((directory) => treeBytes(directory)) };
    case 'remove':
      removeTree(job.path);
      return { kind: 'done' };
    default:
      return unreachable(job);
  }
}

function chunksTo(control: JobControl): TarChunks {
  return new TarChunks((chunk) => {
    if (!control.emit(chunk)) {
      throw new EngineError('canceled', 'writing a tar: canceled');
    }
  });
}

/** Parents come before their children: changes are sorted, and a changed directory is one of them. */
function writeLayer(request: ChangesRequest, control: JobControl): void {
  const view = { root: request.merged, isReadOnly: true, mounts: [], empty: request.merged };
  const out = new TarOut(view, chunksTo(control));
  failpoint('archives.layer.begin');
  for (const { path, kind } of changesOf(request)) {
    const name = path.slice(1);
    if (kind === DELETED) {
      const { parent, name: hidden } = splitName(name);
      out.whiteout(parent === '' ? `.wh.${hidden}` : `${parent}/.wh.${hidden}`);
    } else {
      using place = locate(view, path, { followLast: false });
      out.single(place, name);
    }
  }
  out.finish();
}

function writeTar({ view, place, name }: TarRequest, control: JobControl): void {
  using start = new Place({ ...place, isReadOnly: true, isMounted: false }, false);
  const out = new TarOut(view, chunksTo(control));
  failpoint('archives.tar.begin');
  if (name === undefined) {
    out.contents(start, '');
  } else {
    out.tree(start, name);
  }
  out.finish();
}
