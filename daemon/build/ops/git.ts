import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ContextEntries, type ContextEntry } from '../../../storage/contexts/entries.ts';
import { ContextTree } from '../../../storage/contexts/tree.ts';
import { cloneGit } from '../../../storage/downloads/git-clone.ts';
import { locate } from '../../../storage/files/path-handle.ts';
import { toBytes, type FilesView } from '../../../storage/files/view.ts';
import type { Spool } from '../../../storage/spool/spool.ts';
import { TarParser } from '../../../storage/tar/parser.ts';
import { withResolvers } from '../../base/concurrency/with-resolvers.ts';
import { errnoOf, invalidArgument } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { openRoot, readFileInRoot, type OpenFile } from '../../base/kernel/safepath.ts';
import type { GitSource } from '../graph/op.ts';
import { BuildTree } from '../snapshots/tree.ts';
import type { RunContext, SourceKey } from '../solver/ports.ts';
import { openAgentSocket, type AgentSocket } from './agent-socket.ts';
import { secretIfThere, sessionOf, type OpDeps } from './ports.ts';

/** The id of a client's key agent where none is named. */
const AGENT = 'default';
const SECRETS = { token: 'GIT_AUTH_TOKEN', header: 'GIT_AUTH_HEADER' };
const ROOT = { uid: 0, gid: 0 };
const FETCH_HEAD_BYTES_MAX = 1024 * 1024;

/** A branch may have moved: every build looks, and what is read of the checkout counts. */
export function gitKey(): SourceKey {
  return { key: `git ${randomUUID()}`, isLasting: false };
}

/** A checkout, its files in one file without a name; the clone is gone by then. */
export async function runGit(deps: OpDeps, op: GitSource, context: RunContext): Promise<BuildTree> {
  const { signal } = context;
  const scratch = join(deps.temporary, `git-${randomBytes(8).toString('hex')}`);
  try {
    failpoint('build.ops.git');
    await mkdir(scratch, { mode: 0o700 });
    await using agent = await agentFor(deps, op, { scratch, context });
    const source = { remote: op.remote, ref: op.ref === '' ? 'HEAD' : op.ref };
    const authorization = await authorizationFor(deps, op, context);
    await cloneGit(source, scratch, { signal, keys: { agent: agent.path, authorization } });
    using root = openRoot(join(scratch, 'tree'));
    refuseOtherCommit(root, op);
    return await readTree(deps, root, { op, signal });
  } finally {
    await deps.archives.remove(scratch);
  }
}

/** What the client has as a secret for repositories by HTTP; undefined = nothing. */
async function authorizationFor(
  { sessions }: OpDeps,
  { remote, secrets = SECRETS }: GitSource,
  context: RunContext,
): Promise<string | undefined> {
  if (!/^https?:/i.test(remote)) {
    return undefined;
  }
  const { signal } = context;
  const session = await sessionOf(sessions, context.sessions(), signal);
  const { host } = new URL(remote);
  const names = [secrets.header, secrets.token].filter((name) => name !== '');
  for (const id of names.flatMap((name) => [`${name}.${host}`, name])) {
    const secret = (await secretIfThere(session, id, signal))?.toString('utf8').trim() ?? '';
    if (secret !== '') {
      const isHeader = id.startsWith(secrets.header) && secrets.header !== '';
      return isHeader ? secret : `basic ${Buffer.from(`x-access-token:${secret}`).toString('base64')}`;
    }
  }
  return undefined;
}

/** Of the client, for repositories by ssh; keys of this host are its own. */
async function agentFor(
  { sessions }: OpDeps,
  { remote, agent: id = AGENT }: GitSource,
  { scratch, context }: { scratch: string; context: RunContext },
): Promise<Partial<AgentSocket> & AsyncDisposable> {
  const none = { [Symbol.asyncDispose]: () => Promise.resolve() };
  if (/^(?:https?|git):/i.test(remote)) {
    return none;
  }
  const { signal } = context;
  const session = await sessionOf(sessions, context.sessions(), signal);
  if (!(await session.hasAgent(id, signal))) {
    return none;
  }
  const directory = join(scratch, 'agent');
  await mkdir(directory, { mode: 0o700 });
  return await openAgentSocket(session, { id, directory, owner: ROOT, mode: 0o600, signal });
}

function refuseOtherCommit(root: OpenFile, { checksum, remote }: GitSource): void {
  if (checksum !== '') {
    const head = readFileInRoot(root.fd, '.git/FETCH_HEAD', FETCH_HEAD_BYTES_MAX)?.toString('latin1') ?? '';
    const commit = /^[0-9a-f]{40,64}/.exec(head)?.[0] ?? '';
    if (!commit.startsWith(checksum)) {
      throw invalidArgument(`expected checksum to match ${checksum}, got ${commit} of ${remote}`);
    }
  }
}

async function readTree(
  { archives, spools }: OpDeps,
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
  return new BuildTree({ kind: 'files', context: content }, () => {
    void spool[Symbol.asyncDispose]().catch(
      () => undefined /* a file without a name goes with its descriptor */,
    );
  });
}

function withoutGit(entries: ReadonlyMap<string, ContextEntry>): Map<string, ContextEntry> {
  return new Map([...entries].filter(([path]) => path !== '.git' && !path.startsWith('.git/')));
}

/** Links in it are followed, but never out of the repository. */
function locateDirectory(view: FilesView, directory: string): ReturnType<typeof locate> {
  try {
    return locate(view, toBytes(directory), { followLast: true });
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR' || errnoOf(error) === 'ELOOP') {
      throw invalidArgument(`${JSON.stringify(directory)} is no directory of the repository`, {
        cause: error,
      });
    }
    throw error;
  }
}
