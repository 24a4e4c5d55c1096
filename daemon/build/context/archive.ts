import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { ContextEntries } from '../../../storage/contexts/entries.ts';
import { ContextTree } from '../../../storage/contexts/tree.ts';
import { toBytes } from '../../../storage/files/view.ts';
import type { Spool, SpoolOptions } from '../../../storage/spool/spool.ts';
import { parseHeader } from '../../../storage/tar/header.ts';
import { TarParser } from '../../../storage/tar/parser.ts';
import { plainMember } from '../../../storage/tar/plain-member.ts';
import { failpoint } from '../../base/failpoint.ts';
import { BuildTree } from '../snapshots/tree.ts';

/** Writes a stream to a file without a name, decompressed where it is compressed. Satisfied by `storage/files`. */
export interface ArchiveSpools {
  spool(source: Readable, options: SpoolOptions): Promise<Spool>;
}

/** What came as a stream: a directory as a tar, or one file, whose name in its tree is `ONLY_FILE`. */
export interface CameAsStream {
  tree: BuildTree;
  isFile: boolean;
  /** There was not one byte. */
  isEmpty: boolean;
}

/** What a stream is taken for; `either`: its first block tells. */
export type StreamKind = 'tar' | 'file' | 'either';

/** As BuildKit calls a context that is nothing but a Dockerfile. */
export const ONLY_FILE = 'context';

const BLOCK = 512;
const FILE_MODE = 0o600;

/**
 * Receives a context that comes as a stream, a tar (compressed or not) or a single file, into a file without a name.
 * Nothing is made of the names in it. An empty one is no files at all, or an empty one. Throws invalid_argument for a
 * tar that is none.
 */
export async function receiveStream(
  spools: ArchiveSpools,
  body: Readable,
  {
    what,
    kind,
    signal,
    came,
  }: { what: string; kind: StreamKind; signal: AbortSignal; came?: (bytes: number) => void },
): Promise<CameAsStream> {
  const reader = new StreamReader(what, kind);
  const seen = (chunk: Buffer): void => {
    came?.(chunk.length);
    reader.push(chunk);
  };
  failpoint('build.context.stream');
  const spool = await spools.spool(body, { what, signal, seen });
  try {
    const { files, isFile } = reader.end(spool.size);
    const context = { tree: files, fd: spool.fd, isBare: false };
    const tree = new BuildTree({ kind: 'files', context }, () => close(spool));
    return { tree, isFile, isEmpty: spool.size === 0 };
  } catch (error) {
    await spool[Symbol.asyncDispose]();
    throw error;
  }
}

/** Of a spool that is the bytes of a tree. */
export function close(spool: Pick<Spool, typeof Symbol.asyncDispose>): void {
  void spool[Symbol.asyncDispose]().catch(
    () => undefined /* a file without a name goes with its descriptor */,
  );
}

/** Tells by its first block what a stream is, and notes what is in it. */
class StreamReader {
  readonly #what: string;
  readonly #kind: StreamKind;
  readonly #entries = new ContextEntries();
  readonly #hash = createHash('sha256');
  #head = Buffer.alloc(0);
  #tar: TarParser | undefined;
  #isDecided = false;

  constructor(what: string, kind: StreamKind) {
    this.#what = what;
    this.#kind = kind;
  }

  push(chunk: Buffer): void {
    if (this.#isDecided) {
      this.#take(chunk);
      return;
    }
    this.#head = Buffer.concat([this.#head, chunk]);
    if (this.#head.length >= BLOCK) {
      this.#decide();
    }
  }

  end(size: number): { files: ContextTree; isFile: boolean } {
    if (!this.#isDecided) {
      this.#decide();
    }
    if (this.#tar !== undefined) {
      if (size > 0) {
        this.#tar.end();
      }
      return { files: new ContextTree(this.#entries.all), isFile: false };
    }
    const path = toBytes(ONLY_FILE);
    const member = { ...plainMember(path, { type: 'file', mode: FILE_MODE, mtimeSeconds: 0 }), size };
    const entry = { path, digest: this.#hash.digest('hex'), member };
    return { files: new ContextTree(new Map([[path, entry]])), isFile: true };
  }

  #decide(): void {
    this.#isDecided = true;
    const isArchive = this.#kind === 'either' ? isTar(this.#head) : this.#kind === 'tar';
    this.#tar = isArchive ? new TarParser(this.#entries, this.#what) : undefined;
    this.#take(this.#head);
  }

  #take(bytes: Buffer): void {
    if (this.#tar === undefined) {
      this.#hash.update(bytes);
    } else {
      this.#tar.push(bytes);
    }
  }
}

/** By the checksum of its first header; a tar of nothing is blocks of zeros. */
function isTar(head: Buffer): boolean {
  const block = head.subarray(0, BLOCK);
  if (block.length < BLOCK) {
    return false;
  }
  try {
    return block.every((byte) => byte === 0) || parseHeader(block, 'context').name !== '';
  } catch {
    // It is no header: then it is a text.
    return false;
  }
}
