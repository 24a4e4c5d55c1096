import { createHash } from 'node:crypto';
import { invalidArgument } from '../../daemon/base/errors.ts';
import { toBytes, toText, type FilesView } from '../files/view.ts';
import { splitName } from '../tar/names.ts';
import type { TarMember } from '../tar/parser.ts';
import type { ContextEntry } from './entries.ts';
import type { ContextTree } from './tree.ts';
import type { Selected, SelectRequest } from '../files/select.ts';

/** Files that a client sent; their bytes are in `fd`. */
export interface SentContext {
  tree: ContextTree;
  fd: number;
  /** There is nothing but the Dockerfile. */
  isBare: boolean;
}

interface SourceFacts {
  /** Last component as it was asked for; a byte string. */
  name: string;
  /** All of it as it was asked for; a byte string. */
  path: string;
  isDirectory: boolean;
  /** Of names, types, modes, owners, links and contents, not of times. */
  digest: string;
}

/** A file or directory that COPY or ADD takes. */
export type Source = SourceFacts &
  (
    | {
        kind: 'member';
        /** Where the bytes of files are. */
        fd: number;
        /** Of a file. */
        entry: ContextEntry | undefined;
        /** ADD of it unpacks it, if it is an archive. */
        unpacks: boolean;
        /** It, or what is below it, as members called `name` or lying in it. */
        members(name: string): TarMember[];
        /** Of a directory, itself; undefined = it is the root. */
        directory?: TarMember;
      }
    | { kind: 'tree' }
  );

/** How sources are read. */
export interface SourceReading {
  /** A link that is a source itself is not what it leads to. */
  keepsLinks?: boolean;
  /** `**` in a path is any number of directories. */
  isDeep?: boolean;
  /** A directory that is one is more than what lies in it: its mode and owner count, too. */
  isWhole?: boolean;
}

const WILD = /[*?[\\]/;

/** Sources within the context. Throws invalid_argument with dockerd's texts for those that are not there. */
export function contextSources(
  context: SentContext,
  text: string,
  instruction: string,
  reading: SourceReading = {},
): Source[] {
  const { tree, isBare } = context;
  if (isBare) {
    throw failed(instruction, 'missing build context');
  }
  const path = cleanSource(text);
  if (path === undefined) {
    throw failed(instruction, `forbidden path outside the build context: ${text} ()`);
  }
  if (WILD.test(path)) {
    return tree.matching(path, reading).map((match) => contextSource(context, match, reading));
  }
  if (tree.find(toBytes(path), reading.keepsLinks !== true) === undefined) {
    throw failed(
      instruction,
      `file not found in build context or excluded by .dockerignore: stat ${path}: file does not exist`,
    );
  }
  return [contextSource(context, toBytes(path), reading)];
}

/** A file that was downloaded: ADD puts it there as it is, even an archive. */
export function downloadedSource(entry: ContextEntry, fd: number): Source {
  return fileSource(entry, { name: entry.path, path: entry.path, fd, unpacks: false });
}

/** `COPY failed: why` */
export function failed(instruction: string, why: string): Error {
  return invalidArgument(`${instruction} failed: ${why}`);
}

/** Sources within the files of an image, found and read by a worker. */
export async function imageSources(
  archives: { select(request: SelectRequest, signal?: AbortSignal): Promise<Selected[]> },
  {
    view,
    texts,
    signal,
    ...reading
  }: { view: FilesView; texts: readonly string[]; signal: AbortSignal } & SourceReading,
): Promise<Source[]> {
  const patterns = texts.map((text) => toBytes(text));
  const selected = await archives.select({ view, patterns, ...reading }, signal);
  for (const [index, text] of texts.entries()) {
    if (!WILD.test(text) && !selected.some(({ pattern }) => pattern === index)) {
      throw invalidArgument(`COPY failed: stat ${text}: file does not exist`);
    }
  }
  if (selected.length === 0) {
    throw invalidArgument('COPY failed: no source files were specified');
  }
  return selected.map(({ path, isDirectory, digest }) => ({
    kind: 'tree',
    path,
    name: splitName(path).name,
    isDirectory,
    digest,
  }));
}

/** Below the context's root; undefined when it leads out of it. */
function cleanSource(text: string): string | undefined {
  const parts: string[] = [];
  for (const part of text.split('/')) {
    if (part === '..') {
      if (parts.pop() === undefined) {
        return undefined;
      }
    } else if (part !== '' && part !== '.') {
      parts.push(part);
    }
  }
  return parts.join('/');
}

function contextSource(
  { tree, fd }: SentContext,
  asked: string,
  { keepsLinks = false, isWhole = false }: SourceReading,
): Source {
  const found = tree.find(asked, !keepsLinks);
  const entry = found?.entry;
  if (found === undefined) {
    throw invalidArgument(`COPY failed: ${toText(asked)} is a link to nowhere in the build context`);
  }
  const { name } = splitName(asked);
  if (entry !== undefined && entry.member.type !== 'directory') {
    return fileSource(entry, { name, path: asked, fd, unpacks: true });
  }
  const below = [...tree.below(found.path)];
  let digest: string | undefined;
  return {
    kind: 'member',
    fd,
    entry: undefined,
    unpacks: false,
    name,
    path: asked,
    isDirectory: true,
    ...(entry && { directory: entry.member }),
    // Not everybody asks for it, and it goes through all of them.
    get digest() {
      return (digest ??= digestOf(isWhole && entry ? [entry, ...below] : below, found.path));
    },
    members: (target) =>
      below.map(({ path, member }) => {
        const relative = found.path === '' ? path : path.slice(found.path.length + 1);
        return { ...member, name: target === '' ? relative : `${target}/${relative}` };
      }),
  };
}

function fileSource(
  entry: ContextEntry,
  facts: { name: string; path: string; fd: number; unpacks: boolean },
): Source {
  return {
    ...facts,
    kind: 'member',
    entry,
    isDirectory: false,
    digest: digestOf([entry], entry.path),
    members: (target) => [{ ...entry.member, name: target }],
  };
}

function digestOf(entries: readonly ContextEntry[], root: string): string {
  const hash = createHash('sha256');
  for (const { path, member, digest } of entries) {
    const { type, mode, uid, gid, size, linkName } = member;
    const attributes = [...member.attributes].map(([key, value]) => [key, value.toString('base64')]);
    const facts = [path.slice(root.length), type, mode, uid, gid, size, linkName, digest, attributes];
    hash.update(`${JSON.stringify(facts)}\n`);
  }
  return hash.digest('hex');
}
