import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { extract, pack } from 'tar-fs';

/** The tar of a folder's content, by tar-fs, which shares no code with the engine. */
export async function packed(folder: string): Promise<Buffer> {
  return await buffer(pack(folder));
}

/**
 * Unpacks a tar into a folder by tar-fs, as root does: owners, modes and times too. tar-fs refuses links that lead out
 * of the folder, which `without` names.
 */
export async function unpacked(bytes: Buffer, folder: string, without = ''): Promise<void> {
  const left = path.join(folder, without);
  await pipeline(Readable.from([bytes]), extract(folder, { ignore: (name) => name === left }));
}

/** What each path below a folder is: mode, owner, target or content. */
export function treeOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted();
  return Object.fromEntries(names.map((name) => [name, describe(path.join(folder, name))]));
}

function describe(file: string): string {
  const status = lstatSync(file);
  const owner = `${status.uid}:${status.gid}`;
  if (status.isSymbolicLink()) {
    return `link ${owner} ${readlinkSync(file)}`;
  }
  const what = status.isDirectory() ? 'directory' : `file ${status.mtimeMs / 1000}`;
  const content = status.isFile() ? ` ${readFileSync(file, 'latin1')}` : '';
  return `${what} ${(status.mode & 0o7777).toString(8)} ${owner}${content}`;
}
