import { posix } from 'node:path';
import { canonicalPath, locate, type PathHandle } from '../../../storage/files/path-handle.ts';
import { toBytes, toText, type FilesView } from '../../../storage/files/view.ts';
import type { PathStat } from '../../../api/types/container.ts';
import { formatNano } from '../../base/clock.ts';
import { EngineError, errnoOf, errorText, internal, invalidArgument, notFound } from '../../base/errors.ts';
import { isOfKernel } from '../../base/kernel/files/files.ts';
import { type FileStatus, type FileType } from '../../base/kernel/files/file-status.ts';

/** A path as a client gave it, made absolute and tidy. A slash or `/.` at its end means something and is kept. */
export interface ResourcePath {
  /** Bytes. */
  path: string;
  /** Last component as clients expect it: `.` for `/a/.`, `/` for the root. Bytes. */
  base: string;
}

/** Pure. Throws invalid_argument for a path that is missing or holds a NUL. */
export function resourcePath(text: string): ResourcePath {
  if (text === '') {
    throw invalidArgument('bad parameter: path cannot be empty');
  }
  if (text.includes('\0')) {
    throw invalidArgument('bad parameter: path cannot hold a NUL character');
  }
  const clean = posix.resolve('/', text);
  const end = /(?:^|\/)\.$/.test(text) ? '/.' : /[^/]\/+$/.test(text) && clean !== '/' ? '/' : '';
  const path = clean === '/' ? `/${end.slice(1)}` : `${clean}${end}`;
  const base = end === '/.' ? '.' : posix.basename(clean) || '/';
  return { path: toBytes(path), base: toBytes(base) };
}

/** Finds it, a link at its end not followed. Throws what dockerd says when it is not there. */
export function locateResource(
  view: FilesView,
  { path }: ResourcePath,
  asked: { container: string; path: string; followLast?: boolean },
): PathHandle {
  let handle: PathHandle;
  try {
    handle = locate(view, path, { followLast: asked.followLast ?? false });
  } catch (error) {
    throw explain(error, asked);
  }
  if (!handle.status.isSymbolicLink && isOfKernel(handle.fd)) {
    handle[Symbol.dispose]();
    throw invalidArgument(
      `${asked.path} in container ${asked.container} is a file of the kernel, which cannot be copied`,
    );
  }
  return handle;
}

function explain(error: unknown, { container, path }: { container: string; path: string }): EngineError {
  if (error instanceof EngineError) {
    return error;
  }
  const code = errnoOf(error) ?? '';
  if (code === 'ENOENT') {
    return notFound(`Could not find the file ${path} in container ${container}`, { cause: error });
  }
  const reason = REASONS[code];
  if (reason !== undefined) {
    return invalidArgument(`${path.slice(0, 200)} in container ${container}: ${reason}`, { cause: error });
  }
  return internal(`open ${path} in container ${container}: ${errorText(error)}`, { cause: error });
}

/** What is wrong with a path. */
const REASONS: Readonly<Record<string, string>> = {
  ENOTDIR: 'not a directory',
  ELOOP: 'too many levels of symbolic links',
  ENAMETOOLONG: 'file name too long',
};

/** What the header X-Docker-Container-Path-Stat says. */
export function statOf(view: FilesView, { path, base }: ResourcePath, { status }: PathHandle): PathStat {
  return {
    name: toText(base),
    size: status.size,
    mode: goFileMode(status),
    mtime: formatNano(BigInt(status.mtime.seconds) * 1_000_000_000n + BigInt(status.mtime.nanoseconds)),
    linkTarget: status.isSymbolicLink ? toText(canonicalPath(view, path) || '/') : '',
  };
}

/** Bits of Go's os.FileMode. */
const GO_TYPES: Readonly<Record<FileType, number>> = {
  file: 0,
  directory: 2 ** 31,
  symlink: 2 ** 27,
  block: 2 ** 26,
  character: 2 ** 26 + 2 ** 21,
  fifo: 2 ** 25,
  socket: 2 ** 24,
};
const GO_SETUID = 2 ** 23;
const GO_SETGID = 2 ** 22;
const GO_STICKY = 2 ** 20;

/** Pure. */
export function goFileMode({ type, mode }: Pick<FileStatus, 'type' | 'mode'>): number {
  return (
    (mode & 0o777) +
    GO_TYPES[type] +
    ((mode & 0o4000) === 0 ? 0 : GO_SETUID) +
    ((mode & 0o2000) === 0 ? 0 : GO_SETGID) +
    ((mode & 0o1000) === 0 ? 0 : GO_STICKY)
  );
}
