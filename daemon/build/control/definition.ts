import { posix } from 'node:path';
import type { BuildSession } from '../../../api/types/build/session.ts';
import { toBytes } from '../../../storage/files/view.ts';
import { BuildError, type SourcePlace } from '../../base/build-error.ts';
import { invalidArgument, isEngineError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Contexts, ReceivedFiles } from '../session/contexts.ts';
import type { TreeReader } from '../ops/tree-reader.ts';
import type { Sessions } from '../session/sessions.ts';
import { judged } from '../policy/asked-policy.ts';
import { convertDirectory } from '../policy/evaluate.ts';
import type { SourceConversion } from '../policy/named-source.ts';
import type { BuildTree } from '../snapshots/tree.ts';
import type { LocalSource, Vertex as SourceVertex } from '../graph/op.ts';
import { ignorePatterns } from './ignore-file.ts';
import { refuseSyntax } from './options.ts';
import type { Vertex, Vertices } from './vertices.ts';

/** Where a Dockerfile comes from. */
export interface Loading {
  contexts: Contexts;
  session: BuildSession;
  vertices: Vertices;
  signal: AbortSignal;
  trees: TreeReader;
  sessions: Sessions;
  /** What a policy of the client makes of sources. */
  convert: SourceConversion;
}

/** A Dockerfile, and where it lies. */
export interface DefinitionPlace {
  filename: string;
  dockerfileName: string;
  localSessions: ReadonlyMap<string, string>;
  /** Undefined: in a directory of the session. */
  tree: BuildTree | undefined;
}

export interface Definition {
  name: string;
  text: string;
  /** Of `Dockerfile.dockerignore`; undefined = there is none. */
  ignore: string | undefined;
  /** Digest of the step that got it. */
  vertex: string;
  /** Where it came from; undefined = nobody can tell. */
  source?: SourceVertex | undefined;
}

const SYNTAX = /^#\s*syntax\s*=\s*(.+?)\s*$/i;

/** Gets the Dockerfile of the client's session, and what it leaves out. Throws invalid_argument. */
export async function loadDefinition(
  build: Loading,
  { filename, dockerfileName, localSessions, tree }: DefinitionPlace,
): Promise<Definition> {
  const { base, dir } = posix.parse(posix.normalize(filename));
  const lower = posix.join(dir, base.toLowerCase());
  const path = posix.join(dir, base);
  return await build.vertices.run(`[internal] load build definition from ${base}`, async (vertex) => {
    const followPaths = [...new Set([path, `${path}.dockerignore`, lower])];
    const request = { directory: dockerfileName, followPaths, localSessions };
    await using files =
      tree === undefined ? await receive(build, vertex, request) : treeTexts(build.trees, tree);
    const text =
      (await files.read(path, limits.dockerfileBytesMax)) ??
      (await files.read(lower, limits.dockerfileBytesMax));
    if (text === undefined) {
      throw invalidArgument(`failed to read dockerfile: open ${path}: no such file or directory`);
    }
    return {
      name: base,
      text,
      vertex: vertex.digest,
      ...(tree === undefined && { source: localFiles(build, request) }),
      ignore: await files.read(`${path}.dockerignore`, limits.dockerignoreBytesMax),
    };
  });
}

/** Patterns of what the context leaves out; `tree`: the context, where it is no directory of the session. */
export async function loadIgnore(
  build: Loading,
  {
    contextName,
    localSessions,
    tree,
  }: Pick<DefinitionPlace, 'localSessions' | 'tree'> & { contextName: string },
  { ignore }: Pick<Definition, 'ignore'>,
  title = '[internal] load .dockerignore',
): Promise<string[]> {
  return await build.vertices.run(title, async (vertex) => {
    if (ignore !== undefined) {
      return ignorePatterns(ignore);
    }
    const path = '.dockerignore';
    const request = { directory: contextName, followPaths: [path], localSessions };
    const open = async (): Promise<Texts> =>
      tree === undefined ? await receive(build, vertex, request) : treeTexts(build.trees, tree);
    await using files = await open().catch(noDirectory);
    return ignorePatterns((await files?.read(path, limits.dockerignoreBytesMax)) ?? '');
  });
}

/** A client may have no context, as where nothing is copied of it; what reads of it is told so. */
function noDirectory(error: unknown): undefined {
  if (!isEngineError(error, 'not_found')) {
    throw error;
  }
}

/** Texts of a tree, by their paths; undefined = there is no such file. */
interface Texts extends AsyncDisposable {
  read(path: string, bytesMax: number): Promise<string | undefined>;
}

function treeTexts(trees: TreeReader, tree: BuildTree): Texts {
  return {
    read: async (path, bytesMax) => {
      try {
        const bytes = await trees.file(tree, { path, offset: 0, length: bytesMax + 1 });
        refuseLarge(path, bytes.length, bytesMax);
        return bytes.toString('utf8');
      } catch (error) {
        if (isEngineError(error, 'not_found')) {
          return undefined;
        }
        throw error;
      }
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

interface LocalFiles {
  directory: string;
  followPaths: readonly string[];
  localSessions: ReadonlyMap<string, string>;
}

function localFiles(
  { session }: Loading,
  { directory, followPaths, localSessions }: LocalFiles,
): SourceVertex {
  const op: LocalSource = {
    kind: 'local',
    name: directory,
    session: localSessions.get(directory) ?? session.id,
    sharedKey: session.sharedKey,
    includePatterns: [],
    excludePatterns: [],
    followPaths,
  };
  return { op, inputs: [], name: `local://${directory}` };
}

async function receive(
  { contexts, sessions, session: own, signal, convert }: Loading,
  vertex: Vertex,
  request: LocalFiles,
): Promise<Texts> {
  const other = request.localSessions.get(request.directory);
  const directory = await judged(signal, () => convertDirectory(request.directory, other ?? own.id, convert));
  const session = other === undefined ? own : await sessions.get(other, signal);
  const id = `transferring ${request.directory === 'dockerfile' ? 'dockerfile' : 'context'}:`;
  let current = 0;
  const came = (bytes: number): void => {
    current += bytes;
    vertex.progress(id, { current });
  };
  const { followPaths } = request;
  const whole = { directory, followPaths, includePatterns: [], excludePatterns: [], key: '', came };
  const received = await contexts.receive(session, whole, signal);
  vertex.progress(id, { current, isLast: true });
  return {
    read: (path, bytesMax) => readText(received, path, bytesMax),
    [Symbol.asyncDispose]: async () => await received[Symbol.asyncDispose](),
  };
}

async function readText(
  { files, spool }: ReceivedFiles,
  path: string,
  bytesMax: number,
): Promise<string | undefined> {
  const found = files.get(toBytes(path))?.entry.member;
  // The client follows a link and sends what it leads to under its own name.
  const member = found?.type === 'symlink' ? files.get(linked(path, found.linkName))?.entry.member : found;
  if (member?.type !== 'file') {
    return undefined;
  }
  refuseLarge(path, member.size, bytesMax);
  return (await spool.read(member.offset, member.size)).toString('utf8');
}

function refuseLarge(path: string, size: number, bytesMax: number): void {
  if (size > bytesMax) {
    throw invalidArgument(`${path} is larger than ${bytesMax} bytes`);
  }
}

function linked(path: string, target: string): string {
  return posix.join(posix.dirname(toBytes(path)), target);
}

/** Directives stand before anything else. Throws BuildError with the line. */
export function refuseOtherSyntax({ name, text }: Pick<Definition, 'name' | 'text'>): void {
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    if (!line.startsWith('#') && line.trim() !== '') {
      return;
    }
    const [, syntax] = SYNTAX.exec(line) ?? [];
    if (syntax !== undefined) {
      const place = { filename: name, data: text, line: index + 1, endLine: index + 1 };
      located(place, () => refuseSyntax(syntax));
      return;
    }
  }
}

function located(source: SourcePlace, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw isEngineError(error)
      ? new BuildError(error.code, error.message, { cause: error, source, vertex: undefined })
      : error;
  }
}
