import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { ContextEntries, type ContextEntry } from '../../../storage/contexts/entries.ts';
import { ContextTree } from '../../../storage/contexts/tree.ts';
import { cloneGit, type GitKeys } from '../../../storage/downloads/git-clone.ts';
import type { TarRequest } from '../../../storage/files/jobs.ts';
import { locate, type PathHandle } from '../../../storage/files/path-handle.ts';
import { toBytes, toText, type FilesView } from '../../../storage/files/view.ts';
import type { Spool } from '../../../storage/spool/spool.ts';
import { TarParser } from '../../../storage/tar/parser.ts';
import { withResolvers } from '../../base/concurrency/with-resolvers.ts';
import { errnoOf, invalidArgument } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { openRoot, readFileInRoot, type OpenFile } from '../../base/kernel/files/safepath.ts';
import type { GitSource } from '../graph/op.ts';
import { BuildTree } from '../snapshots/tree.ts';
import { close, type ArchiveSpools } from './archive.ts';

/** What checkouts are made with. */
export interface CheckoutDeps {
  archives: {
    /** `done`: the descriptors of the request may be closed. */
    tar(request: TarRequest, done: () => void): Readable;
    /** Deletes a directory of ours with all below it. */
    remove(path: string): Promise<void>;
  };
  spools: ArchiveSpools;
  /** A directory of ours that is emptied at each start of the daemon. */
  temporary: string;
}

const FETCH_HEAD_BYTES_MAX = 1024 * 1024;

/**
 * A checkout, its files in one file without a name; the clone is gone by then. `keysFor` opens the repository, with
 * files of its own below `scratch`; `checkedOut` is told what came. Throws as `cloneGit`, and invalid_argument for
 * another commit than was asked for and for what is no directory of the repository.
 */
export async function checkOut(
  deps: CheckoutDeps,
  op: GitSource,
  {
    signal,
    keysFor,
    checkedOut,
  }: {
    signal: AbortSignal;
    keysFor?: (scratch: string) => Promise<GitKeys & AsyncDisposable>;
    checkedOut?: (commit: string) => void;
  },
): Promise<BuildTree> {
  const scratch = join(deps.temporary, `git-${randomBytes(8).toString('hex')}`);
  try {
    failpoint('build.context.git');
    await mkdir(scratch, { mode: 0o700 });
    await using keys = await keysFor?.(scratch);
    const source = { remote: op.remote, ref: op.ref === '' ? 'HEAD' : op.ref };
    await cloneGit(source, scratch, { signal, ...(keys && { keys }) });
    failpoint('build.context.cloned');
    using root = openRoot(join(scratch, 'tree'));
    const commit = commitOf(root);
    refuseOtherCommit(commit, op);
    checkedOut?.(commit);
    return await readTree(deps, root, { op, signal });
  } finally {
    await deps.archives.remove(scratch);
  }
}

function commitOf(root: OpenFile): string {
  const head = readFileInRoot(root.fd, '.git/FETCH_HEAD', FETCH_HEAD_BYTES_MAX)?.toString('latin1') ?? '';
  return /^[0-9a-f]{40,64}/.exec(head)?.[0] ?? '';
}

function refuseOtherCommit(commit: string, { checksum, remote }: GitSource): void {
  if (!commit.startsWith(checksum)) {
    throw invalidArgument(`expected checksum to match ${checksum}, got ${commit} of ${remote}`);
  }
}

async function readTree(
  { archives, spools }: CheckoutDeps,
  root: OpenFile,
  { op, signal }: { op: GitSource; signal: AbortSignal },
): Promise<BuildTree> {
  const view: FilesView = { root: root.fd, isReadOnly: true, mounts: [], empty: root.fd };
  using handle = locateDirectory(view, op.subdirectory);
  const { promise: released, resolve } = withResolvers<undefined>();
  const tar = archives.tar({ view, handle: { fd: handle.fd, path: handle.path } }, () => resolve(undefined));
  const entries = new ContextEntries();
  const parser = new TarParser(entries, 'git checkout');
  let spool: Spool;
  try {
    spool = await spools.spool(tar, { what: 'git checkout', signal, seen: (chunk) => parser.push(chunk) });
  } finally {
    tar.destroy();
    // The thread reads by descriptors of ours.
    await released;
  }
  parser.end();
  const files = op.keepsGitDirectory ? entries.all : withoutGit(entries.all);
  const content = { tree: new ContextTree(files), fd: spool.fd, isBare: false };
  return new BuildTree({ kind: 'files', context: content }, () => close(spool));
}

function withoutGit(entries: ReadonlyMap<string, ContextEntry>): Map<string, ContextEntry> {
  return new Map([...entries].filter(([path]) => path !== '.git' && !path.startsWith('.git/')));
}

/** Links in it are followed, but never out of the repository. */
function locateDirectory(view: FilesView, directory: string): PathHandle {
  const shown = JSON.stringify(toText(toBytes(directory)));
  try {
    const handle = locate(view, toBytes(directory), { followLast: true });
    if (handle.status.isDirectory) {
      return handle;
    }
    handle[Symbol.dispose]();
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      throw invalidArgument(`error setting git context, ${shown} is not in the repository`, { cause: error });
    }
    if (errnoOf(error) !== 'ENOTDIR' && errnoOf(error) !== 'ELOOP') {
      throw error;
    }
  }
  throw invalidArgument(`error setting git context, not a directory: ${shown}`);
}
