import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { ContextEntries, type ContextEntry } from '../../../storage/contexts/entries.ts';
import { ContextTree } from '../../../storage/contexts/tree.ts';
import { cloneGit } from '../../../storage/downloads/git-clone.ts';
import { withoutUser, type GitKeys } from '../../../storage/downloads/git-command.ts';
import { findRef, isCommit } from '../../../storage/downloads/git-refs.ts';
import type { TarRequest } from '../../../storage/files/jobs.ts';
import { locate, type PathHandle } from '../../../storage/files/path-handle.ts';
import { toBytes, toText, type FilesView } from '../../../storage/files/view.ts';
import type { Spool } from '../../../storage/spool/spool.ts';
import { TarParser } from '../../../storage/tar/parser.ts';
import { withResolvers } from '../../base/concurrency/with-resolvers.ts';
import { errnoOf, invalidArgument } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { openRoot, type OpenFile } from '../../base/kernel/files/safepath.ts';
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

/** Opens the repository, with files of its own below `scratch`. */
export type KeysFor = (scratch: string) => Promise<GitKeys & AsyncDisposable>;

export interface FoundCommit {
  /** The whole of it. */
  commit: string;
  /** Full name of what led to it; undefined = the source says the commit itself, and nobody was asked. */
  ref?: string;
}

/**
 * The commit that a source means now. Nobody is asked where it says so itself, unless `.git` is kept, which has the
 * name of the ref. Throws as `findRef`, and invalid_argument for another commit than was asked for.
 */
export async function findCommit(
  deps: Pick<CheckoutDeps, 'archives' | 'temporary'>,
  op: GitSource,
  { signal, keysFor }: { signal: AbortSignal; keysFor: KeysFor },
): Promise<FoundCommit> {
  const { remote, ref, checksum, keepsGitDirectory } = op;
  const said = [...(keepsGitDirectory ? [] : [checksum]), ref].find(isCommit);
  if (said !== undefined) {
    refuseOtherCommit(said, op);
    return { commit: said };
  }
  return await withScratch(deps, async (scratch) => {
    failpoint('build.context.ref');
    await using keys = await keysFor(scratch);
    const found = await findRef({ remote, ref }, scratch, { signal, keys });
    refuseOtherCommit(found.commit, op);
    return found;
  });
}

/**
 * A checkout, its files in one file without a name; the clone is gone by then. `found`: what `findCommit` told, which
 * is checked out even where the ref has moved since. Throws as `cloneGit`, and invalid_argument for another commit than
 * was asked for and for what is no directory of the repository.
 */
export async function checkOut(
  deps: CheckoutDeps,
  op: GitSource,
  { signal, keysFor, found }: { signal: AbortSignal; keysFor?: KeysFor; found?: FoundCommit },
): Promise<BuildTree> {
  return await withScratch(deps, async (scratch) => {
    failpoint('build.context.git');
    await using keys = await keysFor?.(scratch);
    const { remote, ref, skipsSubmodules } = op;
    const asked = { remote, ref: ref === '' ? 'HEAD' : ref, ...(skipsSubmodules && { skipsSubmodules }) };
    const source = found?.ref === undefined ? asked : { ...asked, ref: found.ref, commit: found.commit };
    const commit = await cloneGit(source, scratch, { signal, ...(keys && { keys }) });
    failpoint('build.context.cloned');
    refuseOtherCommit(commit, op);
    using root = openRoot(join(scratch, 'tree'));
    return await readTree(deps, root, { op, signal });
  });
}

async function withScratch<T>(
  { archives, temporary }: Pick<CheckoutDeps, 'archives' | 'temporary'>,
  work: (scratch: string) => Promise<T>,
): Promise<T> {
  const scratch = join(temporary, `git-${randomBytes(8).toString('hex')}`);
  try {
    await mkdir(scratch, { mode: 0o700 });
    return await work(scratch);
  } finally {
    await archives.remove(scratch);
  }
}

function refuseOtherCommit(commit: string, { checksum, remote }: GitSource): void {
  if (!commit.startsWith(checksum)) {
    throw invalidArgument(`expected checksum to match ${checksum}, got ${commit} of ${withoutUser(remote)}`);
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
