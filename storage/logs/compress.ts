import { createReadStream, createWriteStream, renameSync, rmSync } from 'node:fs';
import { open, stat, utimes } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { failpoint } from '../../daemon/base/failpoint.ts';

/**
 * Replaces a file by `<file>.gz`, on pool threads. Killed anywhere it leaves the file or its whole replacement; what is
 * half-made is removed by `removeDrafts`. Rejects, with the file as it was, when the disk is full.
 */
export async function compressFile(path: string): Promise<void> {
  const draft = `${path}.gz.tmp`;
  const { atime, mtime } = await stat(path);
  try {
    await pipeline(createReadStream(path), createGzip(), createWriteStream(draft, { mode: 0o600 }));
    await using file = await open(draft, 'r+');
    // A power cut must not leave the name of a file that was never written.
    await file.sync();
    // Reading by time goes by when a file was finished.
    await utimes(draft, atime, mtime);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  failpoint('logs.compress.rename');
  renameSync(draft, `${path}.gz`);
  failpoint('logs.compress.remove');
  rmSync(path, { force: true });
}
