import { createHash, type Hash } from 'node:crypto';
import { mkdir, open, readdir, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { EngineError, errnoOf, errorText, invalidArgument } from '../../../daemon/base/errors.ts';
import type { BackedUpFile } from './manifest.ts';

const PIECE_BYTES = 1024 * 1024;

/** All files below a directory, private to root and on disk, with what they hold. */
export async function sealFiles(directory: string): Promise<BackedUpFile[]> {
  const files: BackedUpFile[] = [];
  const look = async (below: string): Promise<void> => {
    const entries = await readdir(path.join(directory, below), { withFileTypes: true });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const name = path.posix.join(below, entry.name);
      if (entry.isDirectory()) {
        await look(name);
      } else {
        files.push({ name, ...(await sealFile(path.join(directory, name))) });
      }
    }
    await syncDirectory(path.join(directory, below));
  };
  await look('');
  return files;
}

/** Copies a file of a backup, to disk. Throws invalid_argument where it is not what the manifest says. */
export async function copyChecked(from: string, target: string, file: BackedUpFile): Promise<void> {
  const source = await open(path.join(from, file.name), 'r').catch((error: unknown) => {
    throw errnoOf(error) === 'ENOENT' ? invalidArgument(`${file.name} is missing`) : error;
  });
  try {
    const place = path.join(target, file.name);
    await mkdir(path.dirname(place), { recursive: true, mode: 0o700 });
    const copy = await open(place, 'wx', 0o600);
    try {
      const { bytes, sha256 } = await digest(source, (piece) => copy.writeFile(piece));
      if (bytes !== file.bytes || sha256 !== file.sha256) {
        throw invalidArgument(
          `${file.name} is damaged: ${bytes} bytes of SHA-256 ${sha256}, not ${file.bytes} of ${file.sha256}`,
        );
      }
      await copy.sync();
    } finally {
      await copy.close();
    }
  } finally {
    await source.close();
  }
}

/** A new file, on disk. */
export async function writeSynced(file: string, text: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** What goes wrong is told with what was to be done; the system's own errors name their file. */
export async function during<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof EngineError) {
      throw new EngineError(error.code, `${what}: ${error.message}`, { cause: error });
    }
    throw errnoOf(error) === undefined
      ? error
      : new EngineError('internal', `${what}: ${errorText(error)}`, { cause: error });
  }
}

async function sealFile(file: string): Promise<Pick<BackedUpFile, 'bytes' | 'sha256'>> {
  const handle = await open(file, 'r');
  try {
    await handle.chmod(0o600);
    const found = await digest(handle, () => Promise.resolve());
    await handle.sync();
    return found;
  } finally {
    await handle.close();
  }
}

async function digest(
  source: FileHandle,
  take: (piece: Buffer) => Promise<void>,
): Promise<Pick<BackedUpFile, 'bytes' | 'sha256'>> {
  const hash: Hash = createHash('sha256');
  const piece = Buffer.alloc(PIECE_BYTES);
  for (let bytes = 0; ;) {
    const { bytesRead } = await source.read(piece, 0, PIECE_BYTES, bytes);
    if (bytesRead === 0) {
      return { bytes, sha256: hash.digest('hex') };
    }
    const read = piece.subarray(0, bytesRead);
    hash.update(read);
    await take(read);
    bytes += bytesRead;
  }
}
