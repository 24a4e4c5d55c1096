import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { locate, type PathHandle } from '../../../../storage/files/path-handle.ts';
import { toBytes, toText, type FilesView } from '../../../../storage/files/view.ts';
import { download, showUrl } from '../../../../storage/downloads/download.ts';
import { cloneGit } from '../../../../storage/downloads/git-clone.ts';
import { errnoOf, invalidArgument } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { openRoot, type OpenFile } from '../../../base/kernel/safepath.ts';
import { limits } from '../../../base/limits.ts';
import type { BuildDeps } from '../ports.ts';
import { bareContext, receiveContext, type ReceivedContext } from './receive.ts';
import type { GitRemote, Remote } from './remote.ts';

interface Options {
  dockerfile: string;
  signal: AbortSignal;
}

/** Media types of what may be a context (dockerd builder/remotecontext/remote.go). */
const ARCHIVE = /application\/(?:(?:x-)?tar|octet-stream|(?:x-)?(?:gzip|bzip2?|xz|zstd))/;
const TEXT = /text\/plain/;
/** A text has no other bytes below a blank (WHATWG MIME sniffing, "binary data byte"): tab, line ends, escape. */
const BLANK = 0x20;
const OF_TEXT = new Set([0x09, 0x0a, 0x0c, 0x0d, 0x1b]);
const SNIFFED_BYTES = 100;

/** Gets a context from where the client says. Throws before anything is built; then nothing of it is left. */
export async function fetchContext(
  builder: BuildDeps,
  remote: Remote,
  options: Options,
): Promise<ReceivedContext> {
  return remote.kind === 'git'
    ? await fromRepository(builder, remote, options)
    : await fromUrl(builder, remote.url, options);
}

async function fromUrl(builder: BuildDeps, url: URL, options: Options): Promise<ReceivedContext> {
  failpoint('images.build.download');
  const { headers, body } = await download(url, options.signal);
  const { first, rest } = await beginning(body);
  const failed = (why: string): Error => {
    rest.destroy();
    return invalidArgument(`error downloading remote context ${showUrl(url)}: ${why}`);
  };
  if (first.length === 0) {
    throw failed('empty response');
  }
  const type = headers['content-type'] ?? '';
  const kind = kindOf(type, first);
  if (kind === undefined) {
    throw failed(`unsupported Content-Type ${JSON.stringify(type)}`);
  }
  return kind === 'archive'
    ? await receiveContext(builder.spools, rest, options)
    : bareContext(await textOf(rest));
}

/** Servers call files without extension an octet stream: then the first bytes decide. */
function kindOf(type: string, first: Buffer): 'archive' | 'text' | undefined {
  if (type === '' || type === 'application/octet-stream') {
    const isText = first.subarray(0, SNIFFED_BYTES).every((byte) => byte >= BLANK || OF_TEXT.has(byte));
    return isText ? 'text' : 'archive';
  }
  if (TEXT.test(type)) {
    return 'text';
  }
  return ARCHIVE.test(type) ? 'archive' : undefined;
}

async function beginning(body: Readable): Promise<{ first: Buffer; rest: Readable }> {
  // A download's pieces are Buffers.
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const next = await chunks.next();
  const first = next.done === true ? Buffer.alloc(0) : next.value;
  async function* all(): AsyncGenerator<Buffer> {
    try {
      yield first;
      for (let more = await chunks.next(); more.done !== true; more = await chunks.next()) {
        yield more.value;
      }
    } finally {
      body.destroy();
    }
  }
  return { first, rest: Readable.from(all(), { objectMode: true, highWaterMark: 1 }) };
}

async function textOf(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Not decoded.
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limits.dockerfileBytesMax) {
      throw invalidArgument(`the Dockerfile is larger than ${limits.dockerfileBytesMax} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The clone is gone when the context is there: it is known by the tar of its files, as one that is sent. */
async function fromRepository(
  builder: BuildDeps,
  { remote, ref, directory }: GitRemote,
  options: Options,
): Promise<ReceivedContext> {
  const scratch = join(builder.temporary, `git-${randomBytes(8).toString('hex')}`);
  failpoint('images.build.git');
  try {
    await mkdir(scratch, { mode: 0o700 });
    await cloneGit({ remote, ref }, scratch, options);
    failpoint('images.build.cloned');
    using root = openRoot(join(scratch, 'tree'));
    return await receiveTree(builder, root, { ...options, directory });
  } finally {
    await builder.archives.remove(scratch);
  }
}

async function receiveTree(
  builder: BuildDeps,
  root: OpenFile,
  options: Options & { directory: string },
): Promise<ReceivedContext> {
  const view: FilesView = { root: root.fd, isReadOnly: true, mounts: [], empty: root.fd };
  using handle = locateDirectory(view, options.directory);
  let release: (() => void) | undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const tar = builder.archives.tar({ view, handle: { fd: handle.fd, path: handle.path } }, () => release?.());
  try {
    return await receiveContext(builder.spools, tar, options);
  } finally {
    tar.destroy();
    // The thread reads by descriptors of ours.
    await released;
  }
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
      throw invalidArgument(`error setting git context: ${shown} is not in the repository`);
    }
    if (errnoOf(error) !== 'ENOTDIR' && errnoOf(error) !== 'ELOOP') {
      throw error;
    }
  }
  throw invalidArgument(`error setting git context, not a directory: ${shown}`);
}
