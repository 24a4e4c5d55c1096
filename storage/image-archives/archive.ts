import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import { invalidArgument, unreachable } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { BlobRange } from '../layers/source.ts';
import { normalizeName, showName } from '../tar/names.ts';
import { TarParser, type TarMember, type TarSink } from '../tar/parser.ts';
import { wrong } from '../image/json.ts';
import type { Spool, SpoolDirectory } from '../spool/spool.ts';

type Member =
  | { kind: 'file'; offset: number; size: number }
  /** Where it points to, as a path in the archive. */
  | { kind: 'link'; target: string }
  | { kind: 'other' };

/** Documents that say what the archive means: two of one name would let two readers see two images. */
const DOCUMENTS = new Set(['manifest.json', 'index.json', 'oci-layout', 'repositories']);

/**
 * An image tarball: its bytes in one spool file and an index of its members. Nothing is unpacked, so a member's name
 * is only ever a key, never a path of the host.
 */
export class Archive implements AsyncDisposable {
  readonly #spool: Spool;
  readonly #members: ReadonlyMap<string, Member>;
  #open = true;
  #documentBytes = 0;

  constructor(spool: Spool, members: ReadonlyMap<string, Member>) {
    this.#spool = spool;
    this.#members = members;
  }

  /** True when there is a file of this name. */
  has(name: string): boolean {
    return this.#find(name) !== undefined;
  }

  names(): Iterable<string> {
    return this.#members.keys();
  }

  /** Where a file's bytes lie. `where` names the document that refers to it. */
  range(name: string, where: string): BlobRange {
    const member = this.#find(name);
    if (member === undefined) {
      throw wrong(where, `${JSON.stringify(name)} is not in the tarball`);
    }
    return { fd: this.#spool.fd, offset: member.offset, size: member.size };
  }

  /**
   * A small file's bytes. What is read of one archive is bounded, as callers keep it: documents may point to the same
   * file again and again, and what is small when it is compressed need not be small.
   */
  async read(name: string, bytesMax: number, where: string): Promise<Buffer> {
    const { offset, size } = this.range(name, where);
    if (size > bytesMax) {
      throw wrong(where, `${JSON.stringify(name)} has ${size} bytes, at most ${bytesMax} allowed`);
    }
    this.#documentBytes += size;
    if (this.#documentBytes > limits.archiveDocumentBytesMax) {
      throw wrong(where, `more than ${limits.archiveDocumentBytesMax} bytes of documents in one tarball`);
    }
    return await this.#spool.read(offset, size);
  }

  /** Gives the disk space back. May be called early: what is deleted need not be synced. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#open) {
      return;
    }
    this.#open = false;
    await this.#spool[Symbol.asyncDispose]();
  }

  #find(name: string): { offset: number; size: number } | undefined {
    let path = posix.normalize(name);
    for (let links = 0; links <= limits.tarballLinksMax; links += 1) {
      const member = this.#members.get(path);
      if (member?.kind !== 'link') {
        return member?.kind === 'file' ? member : undefined;
      }
      path = member.target;
    }
    return undefined;
  }
}

/** Spools a request's body (perhaps compressed as a whole) and indexes it while it passes. */
export async function readArchive(
  spools: SpoolDirectory,
  source: Readable,
  options: { signal: AbortSignal },
): Promise<Archive> {
  const index = new ArchiveIndex();
  const what = 'load';
  const parser = new TarParser(index, 'invalid tar archive');
  const seen = (chunk: Buffer): void => parser.push(chunk);
  const spool = await spools.fill(source, { what, signal: options.signal, decompress: true, seen });
  try {
    parser.end();
    return new Archive(spool, index.members);
  } catch (error) {
    await spool[Symbol.asyncDispose]();
    throw error;
  }
}

/** Notes where each member lies; content passes by. */
class ArchiveIndex implements TarSink {
  readonly members = new Map<string, Member>();

  member(member: TarMember): void {
    const name = toText(normalizeName(member.name, 'invalid tar archive: entry'));
    if (this.members.size >= limits.archiveMembersMax) {
      throw invalidArgument(`invalid tar archive: more than ${limits.archiveMembersMax} members`);
    }
    if (DOCUMENTS.has(name) && this.members.has(name)) {
      throw invalidArgument(`invalid tar archive: two members named ${showName(member.name)}`);
    }
    this.members.set(name, toMember(name, member));
  }

  raw(): void {
    // Headers tell nothing beyond the member.
  }

  data(): void {
    // Read from the spool when wanted.
  }

  memberEnd(): void {
    // Nothing to finish.
  }
}

function toMember(name: string, member: TarMember): Member {
  switch (member.type) {
    case 'file':
      if (member.sparse !== undefined) {
        // Its bytes do not lie in a row, as everything that reads members expects.
        throw invalidArgument(`invalid tar archive: ${showName(member.name)} is stored as a sparse file`);
      }
      return { kind: 'file', offset: member.offset, size: member.size };
    case 'symlink':
      return { kind: 'link', target: posix.join(posix.dirname(name), toText(member.linkName)) };
    case 'link':
      return { kind: 'link', target: posix.normalize(toText(member.linkName)) };
    case 'directory':
    case 'character':
    case 'block':
    case 'fifo':
      return { kind: 'other' };
    default:
      return unreachable(member.type);
  }
}

/** Names in JSON are text; those of the archive are bytes. */
function toText(name: string): string {
  return Buffer.from(name, 'latin1').toString('utf8');
}
