import { read } from 'node:fs';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { invalidArgument, isEngineError } from '../../daemon/base/errors.ts';
import { decompress } from '../compression/decompress.ts';
import { parseHeader, TAR_BLOCK } from '../tar/header.ts';
import { toBytes, type FilesView } from '../files/view.ts';
import type { Spool } from '../spool/spool.ts';
import type { Source } from './sources.ts';
import type { ExtractRequest } from '../files/extract.ts';
import type { PlaceRequest } from '../files/place.ts';
import type { SpoolOptions } from '../spool/spool.ts';

/** What archives are unpacked with. */
export interface Unpacker {
  archives: {
    place(request: PlaceRequest, signal?: AbortSignal): Promise<void>;
    extract(request: ExtractRequest, signal?: AbortSignal): Promise<void>;
  };
  spools: { spool(source: Readable, options: SpoolOptions): Promise<Spool> };
  signal: AbortSignal;
}

const ROOT = { uid: 0, gid: 0 };

/**
 * ADD of a local archive: unpacks it into a directory. False when the file is no tar, compressed or not. `owner` is
 * that of all that is unpacked and of the directory where that is made, undefined = as the archive has it; directories
 * which the archive only implies are root's in any case (go-archive, createImpliedDirectories).
 */
export async function unpackArchive(
  unpacker: Unpacker,
  view: FilesView,
  {
    source,
    directory,
    there,
    owner,
  }: {
    source: Extract<Source, { kind: 'member' }>;
    directory: string;
    there: 'nothing' | 'directory' | 'other';
    owner?: { uid: number; gid: number };
  },
): Promise<boolean> {
  const { entry } = source;
  // A file that the context's tar holds as a sparse file is no archive.
  if (entry?.member.type !== 'file' || entry.member.size < MAGIC_BYTES || entry.member.sparse !== undefined) {
    return false;
  }
  const { archives, signal } = unpacker;
  await using tar = await plainTar(unpacker, source.fd, entry.member);
  if (tar === undefined) {
    return false;
  }
  if (there === 'other') {
    throw invalidArgument(`ADD: cannot unpack an archive into ${directory}: not a directory`);
  }
  if (there === 'nothing') {
    const directories = [toBytes(directory.replace(/^\/+|\/+$/g, ''))];
    await archives.place({ view, owner: owner ?? ROOT, directories, source: NOTHING, what: 'ADD' }, signal);
  }
  const tree = { view, path: toBytes(directory), keepsKinds: false, impliedOwner: ROOT } as const;
  const request = { ...tree, tar: { fd: tar.fd, size: tar.size }, what: 'ADD' };
  await archives.extract(owner === undefined ? request : { ...request, owner }, signal);
  return true;
}

const readAt = promisify(read);
const PIECE_BYTES = 512 * 1024;
/** What the shortest compressed tar has. */
const MAGIC_BYTES = 10;
const NOTHING = { kind: 'members', fd: -1, members: [] } as const;

/**
 * The file's bytes decompressed; undefined when what can be read of them does not begin as a tar. One that does and is
 * damaged further on is an archive, whose damage the user has to know of (moby pkg/archive, IsArchivePath).
 */
async function plainTar(
  { spools, signal }: Unpacker,
  fd: number,
  range: { offset: number; size: number },
): Promise<Spool | undefined> {
  return (await beginsAsTar(fd, range))
    ? await spools.spool(Readable.from(pieces(fd, range)), { what: 'ADD', signal })
    : undefined;
}

async function beginsAsTar(fd: number, range: { offset: number; size: number }): Promise<boolean> {
  let start = Buffer.alloc(0);
  try {
    for await (const chunk of decompress(pieces(fd, range), 'ADD', true)) {
      start = Buffer.concat([start, chunk]);
      if (start.length >= TAR_BLOCK) {
        parseHeader(start.subarray(0, TAR_BLOCK), 'ADD');
        return true;
      }
    }
    return false;
  } catch (error) {
    if (isEngineError(error, 'invalid_argument')) {
      return false;
    }
    throw error;
  }
}

/** Of a file that stays open: a stream of it that is given up would close it. */
async function* pieces(
  fd: number,
  { offset, size }: { offset: number; size: number },
): AsyncGenerator<Buffer> {
  for (let done = 0; done < size;) {
    const buffer = Buffer.allocUnsafe(Math.min(PIECE_BYTES, size - done));
    const { bytesRead } = await readAt(fd, buffer, 0, buffer.length, offset + done);
    if (bytesRead === 0) {
      return;
    }
    done += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
