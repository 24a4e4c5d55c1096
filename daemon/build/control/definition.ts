import { posix } from 'node:path';
import type { BuildSession } from '../../../api/types/build/session.ts';
import { toBytes } from '../../../storage/files/view.ts';
import { BuildError, type SourcePlace } from '../../base/build-error.ts';
import { invalidArgument, isEngineError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Contexts, ReceivedFiles } from '../session/contexts.ts';
import { ignorePatterns } from './ignore-file.ts';
import { refuseSyntax } from './options.ts';
import type { Vertex, Vertices } from './vertices.ts';

/** Where a Dockerfile comes from. */
export interface Loading {
  contexts: Contexts;
  session: BuildSession;
  vertices: Vertices;
  signal: AbortSignal;
}

export interface Definition {
  name: string;
  text: string;
  /** Of `Dockerfile.dockerignore`; undefined = there is none. */
  ignore: string | undefined;
  /** Digest of the step that got it. */
  vertex: string;
}

const SYNTAX = /^#\s*syntax\s*=\s*(.+?)\s*$/i;

/** Gets the Dockerfile of the client's session, and what it leaves out. Throws invalid_argument. */
export async function loadDefinition(
  build: Loading,
  { filename, dockerfileName }: { filename: string; dockerfileName: string },
): Promise<Definition> {
  const { base, dir } = posix.parse(posix.normalize(filename));
  const lower = posix.join(dir, base.toLowerCase());
  const path = posix.join(dir, base);
  return await build.vertices.run(`[internal] load build definition from ${base}`, async (vertex) => {
    const followPaths = [...new Set([path, `${path}.dockerignore`, lower])];
    await using received = await receive(build, vertex, { directory: dockerfileName, followPaths });
    const found = received.files.has(toBytes(path)) ? path : lower;
    const text = await readText(received, found, limits.dockerfileBytesMax);
    if (text === undefined) {
      throw invalidArgument(`failed to read dockerfile: open ${path}: no such file or directory`);
    }
    return {
      name: base,
      text,
      vertex: vertex.digest,
      ignore: await readText(received, `${path}.dockerignore`, limits.dockerignoreBytesMax),
    };
  });
}

/** Patterns of what the context leaves out. */
export async function loadIgnore(
  build: Loading,
  { contextName }: { contextName: string },
  { ignore }: Definition,
): Promise<string[]> {
  return await build.vertices.run('[internal] load .dockerignore', async (vertex) => {
    if (ignore !== undefined) {
      return ignorePatterns(ignore);
    }
    const path = '.dockerignore';
    await using received = await receive(build, vertex, { directory: contextName, followPaths: [path] });
    return ignorePatterns((await readText(received, path, limits.dockerignoreBytesMax)) ?? '');
  });
}

async function receive(
  { contexts, session, signal }: Loading,
  vertex: Vertex,
  request: {
    directory: string;
    followPaths: readonly string[];
    excludePatterns?: readonly string[];
    key?: string;
  },
): Promise<ReceivedFiles> {
  const id = `transferring ${request.directory === 'dockerfile' ? 'dockerfile' : 'context'}:`;
  let current = 0;
  const came = (bytes: number): void => {
    current += bytes;
    vertex.progress(id, { current });
  };
  const whole = { includePatterns: [], excludePatterns: [], key: '', ...request, came };
  const received = await contexts.receive(session, whole, signal);
  vertex.progress(id, { current, isLast: true });
  return received;
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
  if (member.size > bytesMax) {
    throw invalidArgument(`${path} is larger than ${bytesMax} bytes`);
  }
  return (await spool.read(member.offset, member.size)).toString('utf8');
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
