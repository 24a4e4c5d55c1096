import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { invalidArgument, isEngineError } from '../../base/errors.ts';
import { parseHeader, TAR_BLOCK } from '../../../storage/layers/tar/header.ts';
import { toBytes, type FilesView } from '../../../storage/archives/view.ts';
import type { Spool } from '../../../storage/tarballs/spool.ts';
import type { Source } from './sources.ts';
import type { Build } from './state.ts';

/** ADD of a local archive: unpacks it into a directory. False when the file is no tar, compressed or not. */
export async function unpackArchive(
  build: Build,
  view: FilesView,
  {
    source,
    directory,
    there,
  }: {
    source: Extract<Source, { kind: 'member' }>;
    directory: string;
    there: 'nothing' | 'directory' | 'other';
  },
): Promise<boolean> {
  const { entry } = source;
  // One that the context's tar holds as a sparse file is nobody's archive.
  if (entry?.member.type !== 'file' || entry.member.size < MAGIC_BYTES || entry.member.sparse !== undefined) {
    return false;
  }
  const { deps, signal } = build;
  await using tar = await plainTar(build, source.fd, entry.member);
  if (tar === undefined || !(await beginsAsTar(tar))) {
    return false;
  }
  if (there === 'other') {
    throw invalidArgument(`ADD: cannot unpack an archive into ${directory}: not a directory`);
  }
  if (there === 'nothing') {
    const directories = [toBytes(directory.replace(/^\/+|\/+$/g, ''))];
    await deps.archives.place(
      { view, owner: { uid: 0, gid: 0 }, directories, source: NOTHING, what: 'ADD' },
      signal,
    );
  }
  await deps.archives.extract(
    { tar: { fd: tar.fd, size: tar.size }, view, path: toBytes(directory), keepsKinds: false, what: 'ADD' },
    signal,
  );
  return true;
}

/** What the shortest compressed tar has. */
const MAGIC_BYTES = 10;
const NOTHING = { kind: 'members', fd: -1, members: [] } as const;

/** The file's bytes decompressed; undefined when they only look compressed. */
async function plainTar(
  { deps, signal }: Build,
  fd: number,
  { offset, size }: { offset: number; size: number },
): Promise<Spool | undefined> {
  const bytes: Readable = createReadStream('', {
    fd,
    start: offset,
    end: offset + size - 1,
    autoClose: false,
  });
  try {
    return await deps.spools.spool(bytes, { what: 'ADD', signal });
  } catch (error) {
    if (isEngineError(error, 'invalid_argument')) {
      return undefined;
    }
    throw error;
  }
}

async function beginsAsTar(tar: Spool): Promise<boolean> {
  if (tar.size < TAR_BLOCK) {
    return false;
  }
  try {
    parseHeader(await tar.read(0, TAR_BLOCK), 'ADD');
    return true;
  } catch (error) {
    if (isEngineError(error, 'invalid_argument')) {
      return false;
    }
    throw error;
  }
}
