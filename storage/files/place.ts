/** @path-hostile */
import { EngineError } from '../../daemon/base/errors.ts';
import type { FileTime } from '../../daemon/base/kernel/files/file-status.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { TarChunks } from '../tar/chunks.ts';
import { readRange } from '../layers/source.ts';
import { received } from '../tar/packed-members.ts';
import { plainMember } from '../tar/plain-member.ts';
import { storedBytes, TarParser, type TarMember, type TarSink } from '../tar/parser.ts';
import { AdjustingSink, type Adjustment } from './adjust.ts';
import { Extractor } from './extract.ts';
import { LinkingSink } from '../tar/link-sink.ts';
import { LiveTree } from './live-tree.ts';
import { locate } from './path-handle.ts';
import { TarOut } from './tar-out.ts';
import type { FilesView } from './view.ts';

export interface PlaceRequest {
  /** Where it goes; names of members are paths below its root. */
  view: FilesView;
  /** Of all that is made; undefined = as the source has it. */
  owner?: { uid: number; gid: number };
  /** What becomes of the source's members on their way. */
  adjustment?: Adjustment;
  source: PlacedMembers | PlacedTree;
  /** Directories to make first, unless they are there. */
  directories: readonly string[];
  /** Of all that is made; undefined = as the source has it, and now. */
  mtime?: FileTime;
  /** What would replace a directory by something else, or the other way round, is refused, as by BuildKit. */
  keepsKinds?: boolean;
  /** Begins error messages. */
  what: string;
}

/** A place of a view, called `name` where it is put. */
export interface PlacedItem {
  path: string;
  name: string;
  /** A link is put there itself. */
  keepsLink?: boolean;
  /** A directory with itself: its mode, owner and times, too. */
  isWhole?: boolean;
}

/** Files of another view: `path` and what is below it becomes `name`. Links at its end are followed. */
export interface PlacedTree {
  kind: 'tree';
  view: FilesView;
  items: readonly PlacedItem[];
}

/** Members of a tar in an open file under the names they are to get; `offset` says where their content is. */
export interface PlacedMembers {
  kind: 'members';
  fd: number;
  members: readonly TarMember[];
}

/**
 * Puts chosen files into a view, as COPY of a Dockerfile does. Synchronous, for a worker. Errors as extract.ts's.
 */
export function place(request: PlaceRequest, isCanceled: () => boolean): void {
  const { view, owner, what, source, adjustment, mtime, keepsKinds = false } = request;
  const refuseCanceled = (): void => {
    if (isCanceled()) {
      throw new EngineError('canceled', `${what}: canceled`);
    }
  };
  using tree = new LiveTree({
    view,
    path: '/',
    keepsKinds: keepsKinds && 'build',
    ...(owner && { owner }),
    ...(mtime && { impliedTime: mtime }),
  });
  const sink = new Extractor(tree, what);
  const linking = source.kind === 'members' ? new LinkingSink(sink) : sink;
  const members = adjustment === undefined ? linking : new AdjustingSink(linking, adjustment);
  try {
    for (const name of request.directories) {
      sink.member(plainDirectory(name, mtime));
      sink.memberEnd();
    }
    if (source.kind === 'members') {
      placeMembers(source, members, { what, refuseCanceled, ...(mtime && { mtime }) });
    } else {
      readPlaced({ ...request, source }, members, refuseCanceled);
    }
  } catch (error) {
    sink.abandon();
    throw error;
  }
  failpoint('archives.place.times');
  tree.finish();
}

/** Hands the files of a tree on, as a tar of it has them. `step` is called again and again meanwhile, and may throw. */
export function readPlaced(
  { what, source, adjustment, mtime }: PlaceRequest & { source: PlacedTree },
  sink: TarSink,
  step: () => void,
): void {
  const { exclude = [], include = [] } = adjustment ?? {};
  const isApart = exclude.length + include.length > 0;
  const parser = new TarParser(sink, what);
  const chunks = new TarChunks((chunk) => {
    step();
    parser.push(chunk);
  });
  writeItems(new TarOut(source.view, chunks, { ...(mtime && { mtime }), isApart }), source);
  parser.end();
}

function placeMembers(
  { fd, members }: PlacedMembers,
  sink: TarSink,
  { what, refuseCanceled, mtime }: { what: string; refuseCanceled: () => void; mtime?: FileTime },
): void {
  for (const member of members) {
    refuseCanceled();
    sink.member({ ...received(member), ...(mtime && { mtime }) });
    const size = storedBytes(member);
    if (size > 0) {
      for (const chunk of readRange({ fd, offset: member.offset, size }, what)) {
        refuseCanceled();
        sink.data(chunk);
      }
    }
    sink.memberEnd();
  }
}

function writeItems(out: TarOut, { view, items }: PlacedTree): void {
  for (const { path, name, keepsLink = false, isWhole = false } of items) {
    using found = locate(view, path, { followLast: !keepsLink });
    if (isWhole && name !== '') {
      out.tree(found, name);
    } else if (found.status.isDirectory) {
      out.contents(found, name === '' ? '' : `${name}/`);
    } else {
      out.single(found, name);
    }
  }
  out.finish();
}

/** One that no source has. */
export function plainDirectory(name: string, mtime?: FileTime): TarMember {
  const mtimeSeconds = Math.floor(Date.now() / 1000);
  const made = plainMember(name, { type: 'directory', mode: 0o755, mtimeSeconds });
  return mtime === undefined ? made : { ...made, mtime };
}
