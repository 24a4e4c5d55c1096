import type { Readable } from 'node:stream';
import { invalidArgument, isEngineError } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';
import { toBytes, toText } from '../../../../storage/files/view.ts';
import { TarParser } from '../../../../storage/tar/parser.ts';
import type { Spool } from '../../../../storage/spool/spool.ts';
import type { BuildSpools } from '../ports.ts';
import { ContextEntries, type ContextEntry } from '../../../../storage/contexts/entries.ts';
import { ignoreTest } from '../../../base/dockerfile/ignore.ts';
import { ContextTree } from '../../../../storage/contexts/tree.ts';

/** A context as it was sent: on disk as one tar, known by its members. */
export interface ReceivedContext extends AsyncDisposable {
  tree: ContextTree;
  fd: number;
  dockerfile: string;
  /** There is nothing but the Dockerfile. */
  isBare: boolean;
}

const IGNORE_FILE = '.dockerignore';

/** Receives all of it; a client that leaves meanwhile has caused nothing. Throws invalid_argument. */
export async function receiveContext(
  spools: BuildSpools,
  tar: Readable,
  options: { dockerfile: string; signal: AbortSignal },
): Promise<ReceivedContext> {
  const { signal } = options;
  const entries = new ContextEntries();
  const parser = new TarParser(entries, 'build context');
  const seen = (chunk: Buffer): void => parser.push(chunk);
  const spool = await spools.spool(tar, { what: 'build context', signal, seen });
  try {
    if (spool.size > 0) {
      parser.end();
    }
    failpoint('images.build.context');
    const all = new ContextTree(entries.all);
    const dockerfile = await readDockerfile(spool, all, options.dockerfile);
    const kept = withoutIgnored(entries.all, await readIgnoreFile(spool, all), options.dockerfile);
    const tree = new ContextTree(kept);
    return {
      tree,
      fd: spool.fd,
      dockerfile,
      isBare: false,
      [Symbol.asyncDispose]: () => spool[Symbol.asyncDispose](),
    };
  } catch (error) {
    await spool[Symbol.asyncDispose]();
    throw error;
  }
}

/** A Dockerfile without any files. */
export function bareContext(dockerfile: string): ReceivedContext {
  const tree = new ContextTree(new Map());
  return { tree, fd: -1, dockerfile, isBare: true, [Symbol.asyncDispose]: () => Promise.resolve() };
}

async function readDockerfile(spool: Spool, tree: ContextTree, path: string): Promise<string> {
  let found = tree.find(toBytes(path))?.entry;
  if (found === undefined && path === 'Dockerfile') {
    // As dockerd: for contexts from file systems without capitals.
    found = tree.find('dockerfile')?.entry;
  }
  if (found?.member.type !== 'file') {
    throw invalidArgument(`Cannot locate specified Dockerfile: ${path}`);
  }
  if (found.member.size === 0) {
    throw invalidArgument(`the Dockerfile (${path}) cannot be empty`);
  }
  return (await readFile(spool, found, limits.dockerfileBytesMax)).toString('utf8');
}

async function readIgnoreFile(spool: Spool, tree: ContextTree): Promise<string> {
  const entry = tree.find(IGNORE_FILE)?.entry;
  return entry?.member.type === 'file'
    ? (await readFile(spool, entry, limits.dockerignoreBytesMax)).toString('utf8')
    : '';
}

function readFile(spool: Spool, { path, member }: ContextEntry, bytesMax: number): Promise<Buffer> {
  if (member.sparse !== undefined) {
    throw invalidArgument(`build context: ${toText(path)} is stored as a sparse file`);
  }
  if (member.size > bytesMax) {
    throw invalidArgument(`build context: ${toText(path)} is larger than ${bytesMax} bytes`);
  }
  return spool.read(member.offset, member.size);
}

/**
 * Without the Dockerfile and `.dockerignore` where that leaves them out. As with dockerd nothing else is taken away:
 * clients apply the file before they send, and what they send anyway is meant to be there. A file that cannot be read
 * leaves nothing out: the client that could not read it has sent everything.
 */
function withoutIgnored(
  entries: ReadonlyMap<string, ContextEntry>,
  ignoreFile: string,
  dockerfile: string,
): ReadonlyMap<string, ContextEntry> {
  const isIgnored = testOf(ignoreFile);
  const dropped = [dockerfile, IGNORE_FILE].filter((path) => isIgnored(path));
  const kept = new Map(entries);
  for (const path of dropped) {
    kept.delete(toBytes(path));
  }
  return kept;
}

function testOf(ignoreFile: string): (path: string) => boolean {
  try {
    return ignoreTest(ignoreFile);
  } catch (error) {
    if (isEngineError(error, 'invalid_argument')) {
      return () => false;
    }
    throw error;
  }
}
