import { splitName } from '../tar/names.ts';
import { TarChunks } from '../tar/chunks.ts';
import { EngineError, unreachable } from '../../daemon/base/errors.ts';
import type { FileTime } from '../../daemon/base/kernel/files/file-status.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { freeBytes, writeAll } from '../../daemon/base/kernel/files/files.ts';
import { DiskReserve } from '../disk-reserve.ts';
import { changesOf, DELETED, layerChangesOf, type Change, type ChangesRequest } from './changes.ts';
import { erase, type EraseRequest } from './remove/erase.ts';
import { extract, type ExtractRequest } from './extract.ts';
import { LastHandle } from './last-handle.ts';
import { childOf, PathHandle } from './path-handle.ts';
import { removeTree } from './remove/remove-tree.ts';
import { place, type PlaceRequest } from './place.ts';
import { select, type Selected, type SelectRequest } from './select.ts';
import { TarOut } from './tar-out.ts';
import { treeBytes } from './tree-bytes.ts';
import type { FilesView } from './view.ts';

/** A place of a view that stays open until the job is done. */
export interface HandleRef {
  fd: number;
  path: string;
}

export interface TarRequest {
  view: FilesView;
  handle: HandleRef;
  /** Name of the place itself in the tar; undefined = only what is below it, by names without anything in front. */
  name?: string;
  /** Of all entries; undefined = each its own. */
  mtime?: FileTime;
}

/** What a worker thread does with containers' files. Descriptors belong to the caller and stay open meanwhile. */
export type ArchiveJob =
  | { kind: 'extract'; request: ExtractRequest }
  | { kind: 'tar'; request: TarRequest }
  /** A tar of the changes as an image layer has them, deletions as whiteouts, into an open file. */
  | { kind: 'layer'; request: ChangesRequest; fd: number }
  | { kind: 'changes'; request: ChangesRequest }
  | { kind: 'place'; request: PlaceRequest }
  | { kind: 'select'; request: SelectRequest }
  | { kind: 'erase'; request: EraseRequest }
  | { kind: 'sizes'; directories: readonly string[] }
  /** Deletes one of the engine's own directories. */
  | { kind: 'remove'; path: string };

export type ArchiveResult =
  | { kind: 'done' }
  | { kind: 'changes'; changes: Change[] }
  | { kind: 'selected'; selected: Selected[] }
  | { kind: 'erased'; erased: number }
  /** Bytes of the tar, and how many changes it holds. */
  | { kind: 'layer'; bytes: number; changes: number }
  /** Bytes of each directory; null = it is not there. */
  | { kind: 'sizes'; bytes: (number | null)[] };

export interface JobControl {
  isCanceled(): boolean;
  /** Hands a piece of a tar over; false when the receiver wants no more. Blocks while the receiver is behind. */
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
      return { kind: 'layer', ...writeLayerFile(job, control) };
    case 'place':
      failpoint('archives.place.begin');
      place(job.request, () => control.isCanceled());
      return { kind: 'done' };
    case 'select':
      return { kind: 'selected', selected: select(job.request, () => control.isCanceled()) };
    case 'erase':
      failpoint('archives.erase.begin');
      return { kind: 'erased', erased: erase(job.request, () => control.isCanceled()) };
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
function writeLayer(request: ChangesRequest, chunks: TarChunks): number {
  const view = { root: request.merged, isReadOnly: true, mounts: [], empty: request.merged };
  const out = new TarOut(view, chunks);
  failpoint('archives.layer.begin');
  const all = layerChangesOf(request);
  const changes = request.skipsDeletions === true ? all.filter(({ kind }) => kind !== DELETED) : all;
  using parents = new LastHandle(view);
  for (const { path, kind } of changes) {
    const name = path.slice(1);
    if (kind === DELETED) {
      const { parent, name: hidden } = splitName(name);
      out.whiteout(parent === '' ? `.wh.${hidden}` : `${parent}/.wh.${hidden}`);
    } else {
      using found = childOf(view, parents.at(splitName(path).parent), splitName(path).name);
      out.single(found, name);
    }
  }
  out.finish();
  return changes.length;
}

function writeLayerFile(
  { request, fd }: { request: ChangesRequest; fd: number },
  control: JobControl,
): { bytes: number; changes: number } {
  let bytes = 0;
  const reserve = new DiskReserve(() => freeBytes(fd), 'writing a layer: no space left on device');
  const chunks = new TarChunks((chunk) => {
    if (control.isCanceled()) {
      throw new EngineError('canceled', 'writing a layer: canceled');
    }
    reserve.check(bytes);
    writeAll(fd, chunk);
    bytes += chunk.length;
  });
  const changes = writeLayer(request, chunks);
  return { bytes, changes };
}

function writeTar({ view, handle: from, name, mtime }: TarRequest, control: JobControl): void {
  using start = new PathHandle({ ...from, isReadOnly: true, isMounted: false }, false);
  const out = new TarOut(view, chunksTo(control), { ...(mtime && { mtime }) });
  failpoint('archives.tar.begin');
  if (name === undefined) {
    out.contents(start, '');
  } else {
    out.tree(start, name);
  }
  out.finish();
}
