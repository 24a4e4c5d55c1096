import type { HttpClient } from '../../test/support/engine/http.ts';
import { tar } from '../../test/support/images/tar.ts';

const FILES = 3000;
const FILES_PER_DIRECTORY = 30;
const TAR = { 'Content-Type': 'application/x-tar' };

/** 3,000 files of 1 to 8 kB in 100 directories: a small source tree. */
export function manyFiles(): Buffer {
  const entries = Array.from({ length: FILES }, (_unused, index) => {
    const directory = `tree/${Math.floor(index / FILES_PER_DIRECTORY)}`;
    const file = { name: `${directory}/file${index}`, content: Buffer.alloc(1024 * (1 + (index % 8)), 'x') };
    return index % FILES_PER_DIRECTORY === 0 ? [{ name: `${directory}/` }, file] : [file];
  });
  return tar([{ name: 'tree/' }, ...entries.flat()]);
}

export async function putFiles(http: HttpClient, id: string, body: Buffer): Promise<void> {
  const answer = await http.request('PUT', `/containers/${id}/archive?path=/`, { body, headers: TAR });
  if (answer.status !== 200) {
    throw new Error(`put archive: ${answer.status} ${answer.text}`);
  }
}

/** Reads all of it; a tar that is too small to hold the files is no result. */
export async function getFiles(http: HttpClient, id: string): Promise<void> {
  const { status, bytes } = await http.request('GET', `/containers/${id}/archive?path=/tree`);
  if (status !== 200 || bytes.length < FILES * 1024) {
    throw new Error(`get archive: ${status}, ${bytes.length} bytes`);
  }
}
