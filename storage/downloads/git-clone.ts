import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { withGit, withoutUser, type GitOptions, type RunGit } from './git-command.ts';

export interface GitSource {
  /** `https://host/path.git`, `git://host/path`, `git@host:path`. */
  remote: string;
  /** Branch, tag or commit; never begins with `-`. */
  ref: string;
  /**
   * Of a full name of a ref: the commit that it was found at. It is checked out, on no branch, and the ref is there
   * under its name. Undefined = whatever it is, on its branch where it is one.
   */
  commit?: string;
  /** What is another repository is left an empty directory. */
  skipsSubmodules?: true;
}

/**
 * Clones what `ref` names, with submodules unless they are skipped, without history where the server can, by the host's
 * own git: into `<directory>/tree`, which is made. Answers the commit. Throws as `withGit`.
 */
export async function cloneGit(source: GitSource, directory: string, options: GitOptions): Promise<string> {
  const tree = join(directory, 'tree');
  await mkdir(tree, { mode: 0o755 });
  return await withGit(source.remote, { ...options, directory, cwd: tree }, (run) => clone(source, run));
}

async function clone({ remote, ref, commit, skipsSubmodules }: GitSource, run: RunGit): Promise<string> {
  await run('failed to init repo', 'init', '--quiet', '--template=');
  await run('failed to add origin', 'remote', 'add', '--', 'origin', remote);
  await fetch(ref, run);
  if (commit === undefined) {
    await checkOutByName(ref, run);
  } else {
    await checkOutCommit({ ref, commit }, run);
  }
  if (!skipsSubmodules) {
    await updateSubmodules(run);
  }
  const plain = withoutUser(remote);
  if (plain !== remote) {
    // `.git` is part of the context: a COPY would keep the password in the image.
    await run('failed to set origin', 'remote', 'set-url', '--', 'origin', plain);
  }
  return await commitAt('HEAD', run);
}

async function fetch(ref: string, run: RunGit): Promise<void> {
  try {
    await run('error fetching', 'fetch', '--quiet', '--depth', '1', 'origin', '--', ref);
  } catch (error) {
    refuseUnlessPlain(error);
    await run('error fetching', 'fetch', '--quiet', 'origin', '--', ref);
  }
}

async function updateSubmodules(run: RunGit): Promise<void> {
  const submodules = ['submodule', '--quiet', 'update', '--init', '--recursive'];
  try {
    await run('error initializing submodules', ...submodules, '--depth=1');
  } catch (error) {
    refuseUnlessPlain(error);
    await run('error initializing submodules', ...submodules);
  }
}

async function checkOutByName(ref: string, run: RunGit): Promise<void> {
  try {
    // By name first: on a branch, .git/HEAD says so.
    await run('error checking out', 'checkout', '--quiet', ref, '--');
  } catch {
    await run('error checking out', 'checkout', '--quiet', 'FETCH_HEAD', '--');
  }
}

async function checkOutCommit({ ref, commit }: { ref: string; commit: string }, run: RunGit): Promise<void> {
  if ((await commitAt('FETCH_HEAD', run)) !== commit) {
    // The ref has moved since it was asked for.
    await fetch(commit, run);
  }
  await run('error checking out', 'checkout', '--quiet', '--detach', 'FETCH_HEAD', '--');
  if (ref.startsWith('refs/')) {
    await run('error checking out', 'update-ref', '--', ref, 'FETCH_HEAD');
  }
}

async function commitAt(name: string, run: RunGit): Promise<string> {
  return (await run('error checking out', 'rev-parse', '--verify', `${name}^{commit}`)).trim();
}

/** A web server that knows nothing of git has only whole histories. Throws the error of any other. */
function refuseUnlessPlain(error: unknown): void {
  if (!String(error).includes('dumb http transport')) {
    throw error;
  }
}
