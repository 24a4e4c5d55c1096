import { posix } from 'node:path';
import type { BuildSession } from '../../../api/types/build/session.ts';
import { hostPlatform, parsePlatform } from '../../../storage/image/platform.ts';
import { toBytes } from '../../../storage/files/view.ts';
import { BuildError, type SourcePlace } from '../../base/build-error.ts';
import { invalidArgument, isEngineError, notImplemented, type EngineError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { BuiltImage, DockerfileEngine } from '../ports.ts';
import type { Contexts, ReceivedFiles } from '../session/contexts.ts';
import { EngineReport } from './engine-report.ts';
import { ignorePatterns } from './ignore-file.ts';
import { readOptions, refuseSyntax, type FrontendOptions } from './options.ts';
import type { Vertex, Vertices } from './vertices.ts';

/** What a Dockerfile of a client is built with. */
export interface DockerfileBuild {
  engine: DockerfileEngine;
  contexts: Contexts;
  session: BuildSession;
  vertices: Vertices;
  signal: AbortSignal;
}

interface Definition {
  name: string;
  text: string;
  /** Of `Dockerfile.dockerignore`; undefined = there is none. */
  ignore: string | undefined;
}

const SYNTAX = /^#\s*syntax\s*=\s*(.+?)\s*$/i;

/**
 * The frontend `dockerfile.v0`: gets the Dockerfile of the client's session, what it leaves out, and the context, and
 * has the engine build it. Throws BuildError, with the place in the Dockerfile where there is one.
 */
export async function buildDockerfile(
  build: DockerfileBuild,
  attributes: ReadonlyMap<string, string>,
): Promise<BuiltImage> {
  const options = readOptions(attributes);
  if (options.contextUrl !== '') {
    throw notImplemented(
      `context ${options.contextUrl}: contexts by URL are not supported yet by BuildKit's protocol`,
    );
  }
  const definition = await loadDefinition(build, options);
  refuseOtherSyntax(definition);
  const patterns = await loadIgnore(build, options, definition);
  await using context = await loadContext(build, options, patterns);
  return await runEngine(build, options, { definition, context });
}

async function loadDefinition(
  build: DockerfileBuild,
  { filename, dockerfileName }: FrontendOptions,
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
      ignore: await readText(received, `${path}.dockerignore`, limits.dockerignoreBytesMax),
    };
  });
}

async function loadIgnore(
  build: DockerfileBuild,
  { contextName }: FrontendOptions,
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

async function loadContext(
  build: DockerfileBuild,
  { contextName }: FrontendOptions,
  excludePatterns: readonly string[],
): Promise<ReceivedFiles> {
  const { sharedKey } = build.session;
  // Other patterns make another list: each is kept on its own.
  const key = sharedKey === '' ? '' : JSON.stringify([contextName, sharedKey, excludePatterns]);
  return await build.vertices.run('[internal] load build context', (vertex) =>
    receive(build, vertex, { directory: contextName, followPaths: [], excludePatterns, key }),
  );
}

async function receive(
  { contexts, session, signal }: DockerfileBuild,
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

/** Directives stand before anything else. */
function refuseOtherSyntax({ text }: Definition): void {
  for (const line of text.replace(/^\uFEFF/, '').split(/\r?\n/)) {
    if (!line.startsWith('#') && line.trim() !== '') {
      return;
    }
    const [, syntax] = SYNTAX.exec(line) ?? [];
    if (syntax !== undefined) {
      refuseSyntax(syntax);
    }
  }
}

async function runEngine(
  { engine, session, vertices, signal }: DockerfileBuild,
  { request }: FrontendOptions,
  { definition, context }: { definition: Definition; context: ReceivedFiles },
): Promise<BuiltImage> {
  const report = new EngineReport(vertices);
  const files = new Map([...context.files].map(([path, { entry }]) => [path, entry]));
  try {
    const image = await engine.build({
      dockerfile: definition.text,
      files,
      fd: context.spool.fd,
      request: { ...request, signal },
      automatic: platformArguments(request.platform ?? ''),
      report,
      auth: (domain) => session.credentials(hostOf(domain), signal),
      signal,
    });
    report.end();
    return image;
  } catch (error) {
    throw isEngineError(error) ? located(error, definition, report) : error;
  }
}

/** Docker's own registry is known to clients by the host that serves it. */
function hostOf(domain: string): string {
  return domain === 'docker.io' ? 'registry-1.docker.io' : domain;
}

/** `ARG TARGETARCH` and its like. */
function platformArguments(platform: string): Map<string, string> {
  const target = parsePlatform(platform, 'platform');
  const all = new Map<string, string>();
  for (const [prefix, { os, architecture, variant = '' }] of [
    ['TARGET', target],
    ['BUILD', hostPlatform()],
  ] as const) {
    all.set(`${prefix}PLATFORM`, [os, architecture, variant].filter((part) => part !== '').join('/'));
    all.set(`${prefix}OS`, os);
    all.set(`${prefix}ARCH`, architecture);
    all.set(`${prefix}VARIANT`, variant);
  }
  return all;
}

/** The error with its place in the Dockerfile; its step is told of it. */
function located(error: EngineError, { name, text }: Definition, report: EngineReport): BuildError {
  const { step, vertex } = report.current;
  const parsedAt = error.details['line'];
  const line = step?.instruction.line ?? (typeof parsedAt === 'number' ? parsedAt : undefined);
  const endLine = step?.instruction.endLine ?? line;
  const source: SourcePlace | undefined =
    line === undefined || endLine === undefined || line === 0
      ? undefined
      : { filename: name, data: text, line, endLine };
  const message =
    commandText(error) ??
    error.message.replace(/^dockerfile parse error line /, 'dockerfile parse error on line ');
  vertex?.fail(message);
  return new BuildError(error.code, message, { cause: error, source, vertex: vertex?.digest });
}

/** A command that failed, in BuildKit's words. */
function commandText(error: EngineError): string | undefined {
  if (!('exitCode' in error) || !('command' in error) || !Array.isArray(error.command)) {
    return undefined;
  }
  const command = JSON.stringify(error.command.join(' '));
  return `process ${command} did not complete successfully: exit code: ${String(error.exitCode)}`;
}
