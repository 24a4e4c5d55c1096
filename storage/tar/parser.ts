import { invalidArgument, unreachable } from '../../daemon/base/errors.ts';
import type { FileTime } from '../../daemon/base/kernel/files/file-status.ts';
import { limits } from '../../daemon/base/limits.ts';
import { isZeroBlock, parseHeader, TAR_BLOCK, type TarHeader } from './header.ts';
import { showName } from './names.ts';
import { parsePax, type PaxRecords } from './pax.ts';
import {
  checkExtents,
  extentBytes,
  GnuSparseMap,
  PaxSparseMap,
  toExtents,
  type SparseExtent,
  type SparseMapReader,
} from './sparse.ts';

export type TarEntryType = 'file' | 'link' | 'symlink' | 'character' | 'block' | 'directory' | 'fifo';

/** One member of a tar, its extended headers folded in. Names are byte strings (names.ts), not yet normalised. */
export interface TarMember {
  name: string;
  type: TarEntryType;
  linkName: string;
  /** Bytes of a file; 0 for all others. */
  size: number;
  /** Where a sparse file has data: only that follows, extent by extent. Absent = all of the file follows. */
  sparse?: readonly SparseExtent[];
  mode: number;
  uid: number;
  gid: number;
  mtime: FileTime;
  major: number;
  minor: number;
  attributes: ReadonlyMap<string, Buffer>;
  /** Where the content begins in the tar. */
  offset: number;
  /** Of a file of a build's context: those with the same text are names of one file. */
  sharedWith?: string;
}

/** What the parser finds, in the order of the bytes. All of the tar is either `raw` or `data`. */
export interface TarSink {
  /** Headers, padding and end marker. The buffer is only valid during the call. */
  raw(bytes: Buffer): void;
  member(member: TarMember): void;
  /** Content of the last member, in pieces. Valid during the call only. */
  data(bytes: Buffer): void;
  /** All of the last member's content has come. */
  memberEnd(): void;
}

/** Bytes of the member's content that are in the tar. */
export function storedBytes({ size, sparse }: TarMember): number {
  return sparse === undefined ? size : extentBytes(sparse);
}

const TYPES: Readonly<Record<string, TarEntryType>> = {
  '0': 'file',
  // Sparse, in GNU's own format.
  S: 'file',
  // "Contiguous": a plain file to everything that is not a 1980s real-time system.
  '7': 'file',
  '1': 'link',
  '2': 'symlink',
  '3': 'character',
  '4': 'block',
  '5': 'directory',
  '6': 'fifo',
};

/** `stored` = bytes behind the header, the map included where it is part of them. */
interface SparseStart {
  header: TarHeader;
  map: SparseMapReader;
  stored: number;
}

type Expecting = 'header' | 'extension' | 'sparseMap' | 'data' | 'padding' | 'secondZero' | 'trailer';

/**
 * A tar parser that is pushed to: synchronous, keeps at most one header and one extended header in memory, finds
 * every byte's meaning and passes it on, so that the same bytes can be written again (recipe.ts).
 *
 * Global extended headers (`g`) are passed over: the engines that made today's images report but do not apply them,
 * and applying them would give one layer two meanings.
 */
export class TarParser {
  readonly #sink: TarSink;
  readonly #what: string;
  readonly #block = Buffer.alloc(TAR_BLOCK);
  #blockLength = 0;
  #expecting: Expecting = 'header';
  /** Bytes still to come of content or padding. */
  #remaining = 0;
  #padding = 0;
  #position = 0;
  #entries = 0;
  #extension: { type: string; bytes: Buffer; length: number } | undefined;
  #pax: PaxRecords = {};
  #longName: string | undefined;
  #longLink: string | undefined;
  /** A sparse file whose map goes on in the next block. */
  #sparse: SparseStart | undefined;

  /** `what` begins every error message: `layer 2 of busybox`. */
  constructor(sink: TarSink, what: string) {
    this.#sink = sink;
    this.#what = what;
  }

  /** Bytes seen so far. */
  get position(): number {
    return this.#position;
  }

  push(chunk: Buffer): void {
    let offset = 0;
    while (offset < chunk.length) {
      const taken = this.#take(offset === 0 ? chunk : chunk.subarray(offset));
      offset += taken;
      this.#position += taken;
    }
  }

  /** Call when the input is over. Throws when it ended inside a member. */
  end(): void {
    const atBoundary = this.#expecting === 'header' && this.#blockLength === 0;
    const inExtension = this.#extension !== undefined || this.#hasExtensions();
    const ended = this.#expecting === 'trailer' || this.#expecting === 'secondZero' || atBoundary;
    if (!ended || inExtension) {
      throw invalidArgument(`${this.#what}: the tar is cut off at byte ${this.#position}`);
    }
  }

  #take(bytes: Buffer): number {
    switch (this.#expecting) {
      case 'header':
      case 'sparseMap':
      case 'secondZero':
        return this.#takeBlock(bytes);
      case 'extension':
        return this.#takeExtension(bytes);
      case 'data':
        return this.#takeData(bytes);
      case 'padding': {
        const part = bytes.subarray(0, this.#remaining);
        this.#sink.raw(part);
        this.#remaining -= part.length;
        if (this.#remaining === 0) {
          this.#expecting = 'header';
        }
        return part.length;
      }
      case 'trailer':
        // After the end marker anything may follow (tar pads to its record size); it only has to be kept.
        this.#sink.raw(bytes);
        return bytes.length;
      default:
        return unreachable(this.#expecting);
    }
  }

  #takeBlock(bytes: Buffer): number {
    const count = Math.min(TAR_BLOCK - this.#blockLength, bytes.length);
    bytes.copy(this.#block, this.#blockLength, 0, count);
    this.#blockLength += count;
    if (this.#blockLength < TAR_BLOCK) {
      return count;
    }
    this.#blockLength = 0;
    this.#sink.raw(this.#block);
    if (this.#sparse !== undefined) {
      this.#sparseBlock(this.#sparse, this.#position + count);
      return count;
    }
    if (isZeroBlock(this.#block)) {
      this.#expecting = this.#expecting === 'secondZero' ? 'trailer' : 'secondZero';
      return count;
    }
    if (this.#expecting === 'secondZero') {
      throw invalidArgument(`${this.#what}: a single zero block at byte ${this.#position - TAR_BLOCK}`);
    }
    this.#header(parseHeader(this.#block, this.#what), this.#position + count);
    return count;
  }

  #header(header: TarHeader, offset: number): void {
    this.#entries += 1;
    if (this.#entries > limits.layerEntriesMax) {
      throw invalidArgument(`${this.#what}: more than ${limits.layerEntriesMax} entries`);
    }
    if ('xgLK'.includes(header.type)) {
      this.#beginExtension(header);
    } else {
      this.#beginMember(header, offset);
    }
  }

  #beginExtension(header: TarHeader): void {
    if (header.size < 0 || header.size > limits.paxRecordBytesMax) {
      throw invalidArgument(
        `${this.#what}: extended header of ${header.size} bytes, at most ${limits.paxRecordBytesMax} allowed`,
      );
    }
    this.#extension = { type: header.type, bytes: Buffer.alloc(header.size), length: 0 };
    this.#padding = paddingOf(header.size);
    this.#expecting = 'extension';
    if (header.size === 0) {
      this.#endExtension();
    }
  }

  #takeExtension(bytes: Buffer): number {
    const extension = this.#extension!;
    const part = bytes.subarray(0, extension.bytes.length - extension.length);
    part.copy(extension.bytes, extension.length);
    extension.length += part.length;
    this.#sink.raw(part);
    if (extension.length === extension.bytes.length) {
      this.#endExtension();
    }
    return part.length;
  }

  #endExtension(): void {
    const { type, bytes } = this.#extension!;
    this.#extension = undefined;
    if (type === 'x') {
      this.#pax = parsePax(bytes, this.#what);
    } else if (type === 'L') {
      this.#longName = untilNul(bytes);
    } else if (type === 'K') {
      this.#longLink = untilNul(bytes);
    }
    this.#skipPadding();
  }

  #beginMember(header: TarHeader, offset: number): void {
    const { sparse, size: stored = header.size } = this.#pax;
    const where = this.#where(header);
    if (stored < 0 || header.uid < 0 || header.gid < 0) {
      throw invalidArgument(`${where}: negative size, uid or gid`);
    }
    if (header.type === 'S') {
      const map = new GnuSparseMap(where);
      const isWhole = map.take(this.#block);
      this.#sparse = { header, map, stored };
      this.#expecting = 'sparseMap';
      if (isWhole) {
        this.#endSparse(this.#sparse, offset);
      }
      return;
    }
    if (sparse === undefined) {
      this.#member(header, { offset, size: stored });
      return;
    }
    const { version, realSize = -1, numbers = [] } = sparse;
    if (version === undefined) {
      const file = { size: realSize, stored };
      this.#member(header, {
        offset,
        size: realSize,
        sparse: checkExtents(toExtents(numbers, where), file, where),
      });
      return;
    }
    if (version.join('.') !== '1.0') {
      throw invalidArgument(`${where}: sparse file: version ${version.join('.')} is not known`);
    }
    this.#sparse = { header, map: new PaxSparseMap(realSize, where), stored };
    this.#expecting = 'sparseMap';
  }

  #sparseBlock(sparse: SparseStart, offset: number): void {
    // The map of pax is part of the content, that of GNU part of the header.
    if (sparse.header.type !== 'S') {
      sparse.stored -= TAR_BLOCK;
    }
    if (sparse.stored < 0) {
      throw invalidArgument(`${this.#where(sparse.header)}: sparse file: its map does not end`);
    }
    if (sparse.map.take(this.#block)) {
      this.#endSparse(sparse, offset);
    }
  }

  #endSparse({ header, map, stored }: SparseStart, offset: number): void {
    this.#sparse = undefined;
    const { size, extents } = map;
    this.#member(header, {
      offset,
      size,
      sparse: checkExtents(extents, { size, stored }, this.#where(header)),
    });
  }

  /** Begins messages about a member. */
  #where(header: TarHeader): string {
    return `${this.#what}: entry ${showName(this.#nameOf(header))}`;
  }

  #nameOf(header: TarHeader): string {
    return this.#pax.sparse?.name ?? this.#pax.path ?? this.#longName ?? header.name;
  }

  #member(header: TarHeader, content: { offset: number; size: number; sparse?: SparseExtent[] }): void {
    const name = this.#nameOf(header);
    let type = TYPES[header.type];
    if (type === undefined) {
      const kind = `entries of type ${JSON.stringify(header.type)}`;
      throw invalidArgument(`${this.#where(header)}: ${kind} are not supported`);
    }
    // Before ustar a directory was a file with a slash at its end.
    if (type === 'file' && name.endsWith('/')) {
      type = 'directory';
    }
    if (type !== 'file' && content.sparse !== undefined) {
      throw invalidArgument(`${this.#where(header)}: a sparse ${type}`);
    }
    const { uid = header.uid, gid = header.gid, mtime } = this.#pax;
    const member: TarMember = {
      ...content,
      name,
      type,
      linkName: this.#pax.linkPath ?? this.#longLink ?? header.linkName,
      size: type === 'file' ? content.size : 0,
      mode: header.mode & 0o7777,
      uid,
      gid,
      mtime: mtime ?? { seconds: header.mtime, nanoseconds: 0 },
      major: header.major,
      minor: header.minor,
      attributes: this.#pax.attributes ?? NO_ATTRIBUTES,
    };
    this.#sink.member(member);
    this.#pax = {};
    this.#longName = undefined;
    this.#longLink = undefined;
    this.#remaining = storedBytes(member);
    this.#padding = paddingOf(this.#remaining);
    this.#expecting = 'data';
    if (this.#remaining === 0) {
      this.#endData();
    }
  }

  #takeData(bytes: Buffer): number {
    const part = bytes.length > this.#remaining ? bytes.subarray(0, this.#remaining) : bytes;
    this.#sink.data(part);
    this.#remaining -= part.length;
    if (this.#remaining === 0) {
      this.#endData();
    }
    return part.length;
  }

  #endData(): void {
    this.#sink.memberEnd();
    this.#skipPadding();
  }

  #skipPadding(): void {
    this.#remaining = this.#padding;
    this.#expecting = this.#remaining === 0 ? 'header' : 'padding';
  }

  #hasExtensions(): boolean {
    return this.#longName !== undefined || this.#longLink !== undefined || Object.keys(this.#pax).length > 0;
  }
}

const NO_ATTRIBUTES: ReadonlyMap<string, Buffer> = new Map();

function paddingOf(size: number): number {
  return (TAR_BLOCK - (size % TAR_BLOCK)) % TAR_BLOCK;
}

function untilNul(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString('latin1', 0, end === -1 ? bytes.length : end);
}
