import type { SentContext } from '../../../storage/contexts/sources.ts';
import { ContextTree } from '../../../storage/contexts/tree.ts';
import { showUrl } from '../../../storage/downloads/download.ts';
import { toBytes } from '../../../storage/files/view.ts';
import type { BuildFiles, ReceivedContext } from '../../images/build/ports.ts';
import { ignoreTest } from '../../base/dockerfile/ignore.ts';
import { invalidArgument, invariant, isEngineError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { ONLY_FILE, receiveStream, type CameAsStream, type StreamKind } from '../context/archive.ts';
import { receiveUrl } from '../context/by-url.ts';
import { fetchFile, fileName, fileTree, type FileSpools } from '../context/fetch-file.ts';
import { checkOut, type CheckoutDeps } from '../context/git-checkout.ts';
import type { TreeReader } from '../ops/tree-reader.ts';
import { BuildTree } from '../snapshots/tree.ts';
import { parseRemote } from './remote.ts';

export interface ClassicFilesDeps extends CheckoutDeps {
  spools: CheckoutDeps['spools'] & FileSpools;
  trees: TreeReader;
}

const IGNORE_FILE = '.dockerignore';
/** dockerd's name for what has none. */
const UNNAMED = '__unnamed__';
const MODE = 0o600;
/** Media types of what may be a context (dockerd builder/remotecontext/remote.go). */
const ARCHIVE = /application\/(?:(?:x-)?tar|(?:x-)?(?:gzip|bzip2?|xz|zstd))/;
const TEXT = /text\/plain/;

/** What the classic builder reads of a client and of the web, by the rules of its door. */
export function classicFiles(deps: ClassicFilesDeps): BuildFiles {
  return {
    context: async (from, options) => {
      const { signal, dockerfile } = options;
      const came =
        'body' in from
          ? await receiveStream(deps.spools, from.body, { what: 'build context', kind: 'tar', signal })
          : await remoteContext(deps, from.remote, signal);
      try {
        return await definedBy(deps, came, dockerfile);
      } catch (error) {
        came.tree[Symbol.dispose]();
        throw error;
      }
    },
    download: async (url, { named, ...fetching }) => {
      let name = '';
      const answered = ({ disposition }: { disposition: string | undefined }): void => {
        name = fileName(url, disposition);
        named(name);
      };
      const fetched = await fetchFile(deps.spools, url, { ...fetching, answered });
      const tree = fileTree(fetched, { name: name || UNNAMED, mode: MODE, uid: 0, gid: 0 });
      const context = sentIn(tree);
      const entry = context.tree.find(toBytes(name || UNNAMED))?.entry;
      invariant(entry !== undefined, 'a file that was fetched is in its tree');
      return { entry, fd: context.fd, files: tree };
    },
  };
}

async function remoteContext(
  deps: ClassicFilesDeps,
  remote: string,
  signal: AbortSignal,
): Promise<Pick<CameAsStream, 'tree' | 'isFile'>> {
  const source = parseRemote(remote);
  if (source.kind === 'git') {
    return { tree: await checkOut(deps, source.op, { signal }), isFile: false };
  }
  const failed = (why: string): Error =>
    invalidArgument(`error downloading remote context ${showUrl(source.url)}: ${why}`);
  const kindOf = (type: string): StreamKind => {
    const kind = kindOfType(type);
    if (kind === undefined) {
      throw failed(`unsupported Content-Type ${JSON.stringify(type)}`);
    }
    return kind;
  };
  const came = await receiveUrl(deps.spools, source.url, { signal, kindOf });
  if (came.isEmpty) {
    came.tree[Symbol.dispose]();
    throw failed('empty response');
  }
  return came;
}

/** Servers call files without extension an octet stream: then the first bytes decide. */
function kindOfType(type: string): StreamKind | undefined {
  if (type === '' || type === 'application/octet-stream') {
    return 'either';
  }
  if (TEXT.test(type)) {
    return 'file';
  }
  return ARCHIVE.test(type) ? 'tar' : undefined;
}

/** Its Dockerfile, and what is left for COPY and ADD. */
async function definedBy(
  { trees }: Pick<ClassicFilesDeps, 'trees'>,
  { tree, isFile }: Pick<CameAsStream, 'tree' | 'isFile'>,
  path: string,
): Promise<ReceivedContext> {
  const context = sentIn(tree);
  const text = async (name: string, bytesMax: number): Promise<string> => {
    const bytes = await trees.file(tree, { path: name, offset: 0, length: bytesMax + 1 });
    if (bytes.length > bytesMax) {
      throw invalidArgument(`build context: ${name} is larger than ${bytesMax} bytes`);
    }
    return bytes.toString('utf8');
  };
  if (isFile) {
    const bare = { tree: new ContextTree(new Map()), fd: context.fd, isBare: true };
    const dockerfile = await text(ONLY_FILE, limits.dockerfileBytesMax);
    return { dockerfile, context: bare, files: tree };
  }
  const dockerfile = await text(dockerfileIn(context.tree, path), limits.dockerfileBytesMax);
  const ignore = context.tree.find(IGNORE_FILE)?.entry;
  const patterns = ignore?.member.type === 'file' ? await text(IGNORE_FILE, limits.dockerignoreBytesMax) : '';
  const kept = { ...context, tree: withoutIgnored(context.tree, patterns, path) };
  return {
    dockerfile,
    context: kept,
    files: new BuildTree({ kind: 'files', context: kept }, () => tree[Symbol.dispose]()),
  };
}

/** Where it lies. */
function dockerfileIn(tree: ContextTree, path: string): string {
  // As dockerd: for contexts from file systems without capitals.
  const isLower = path === 'Dockerfile' && tree.find(path) === undefined;
  const name = isLower ? path.toLowerCase() : path;
  const member = tree.find(toBytes(name))?.entry?.member;
  if (member?.type !== 'file') {
    throw invalidArgument(`Cannot locate specified Dockerfile: ${path}`);
  }
  if (member.size === 0) {
    throw invalidArgument(`the Dockerfile (${path}) cannot be empty`);
  }
  return name;
}

/**
 * Without the Dockerfile and `.dockerignore` where that leaves them out. As with dockerd nothing else is taken away:
 * clients apply the file before they send, and what they send anyway is meant to be there. A file that cannot be read
 * leaves nothing out: the client that could not read it has sent everything.
 */
function withoutIgnored(tree: ContextTree, patterns: string, dockerfile: string): ContextTree {
  const isIgnored = testOf(patterns);
  const dropped = new Set(
    [dockerfile, IGNORE_FILE].filter((path) => isIgnored(path)).map((path) => toBytes(path)),
  );
  return dropped.size === 0
    ? tree
    : new ContextTree(
        new Map(
          [...tree.below('')].flatMap((entry) => (dropped.has(entry.path) ? [] : [[entry.path, entry]])),
        ),
      );
}

function testOf(patterns: string): (path: string) => boolean {
  try {
    return ignoreTest(patterns);
  } catch (error) {
    if (isEngineError(error, 'invalid_argument')) {
      return () => false;
    }
    throw error;
  }
}

function sentIn({ content }: BuildTree): SentContext {
  invariant(content.kind === 'files', 'what came as files is no layers');
  return content.context;
}
