import { limits } from '../../daemon/base/limits.ts';

/** A way in which tars come compressed. */
export interface CompressionFormat {
  name: string;
  /** Whether data that begins so (`MAGIC_BYTES`, less only when there is no more) is of this format. Pure. */
  begins: (start: Buffer) => boolean;
  /** Program of the host and its arguments; undefined = decompressed in process. */
  argv?: readonly [string, ...string[]];
}

/** Bytes that `formatOf` wants to see. */
export const MAGIC_BYTES = 6;

const MEMORY = limits.decompressMemoryBytesMax;
/** RFC 8878, 3.1.2: sixteen magic numbers of frames that are passed over; some writers put one first. */
const ZSTD_SKIPPABLE = Buffer.from('2a4d18', 'hex');

export const FORMATS: readonly CompressionFormat[] = [
  { name: 'gzip', begins: startsWith(Buffer.from('1f8b', 'hex')) },
  { name: 'bzip2', begins: startsWith(Buffer.from('BZh', 'latin1')), argv: ['bzip2', '-d', '-c'] },
  {
    name: 'xz',
    begins: startsWith(Buffer.from('fd377a585a00', 'hex')),
    argv: ['xz', '-d', '-c', `-M${MEMORY}`],
  },
  {
    name: 'zstd',
    begins: (start) => startsWith(Buffer.from('28b52ffd', 'hex'))(start) || isSkippable(start),
    argv: ['zstd', '-d', '-c', '-q', `--memory=${MEMORY / 1024 / 1024}MB`],
  },
];

/** How data that begins so is compressed; undefined = no known format. */
export function formatOf(start: Buffer): CompressionFormat | undefined {
  return FORMATS.find(({ begins }) => begins(start));
}

function startsWith(magic: Buffer): (start: Buffer) => boolean {
  return (start) => start.subarray(0, magic.length).equals(magic);
}

function isSkippable(start: Buffer): boolean {
  return ((start[0] ?? 0) & 0xf0) === 0x50 && start.subarray(1, 4).equals(ZSTD_SKIPPABLE);
}
