import { randomUUID } from 'node:crypto';
import { statfsSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat, unlink, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { errnoOf, invariant } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { DiskReserve } from '../disk-reserve.ts';
import { IncomingBlob } from './incoming-blob.ts';
import { HubUploadFile, NO_SPACE, toEngineError } from './upload-file.ts';

/** Names of files are made of these alone: no link and no `..` can come of them. */
const DIGEST = /^sha256:([0-9a-f]{2})([0-9a-f]{62})$/;
const UPLOAD = /^[1-9]\d{0,15}\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Bytes of one read of a blob that is sent: what a hundred of them hold at a time is 25 MB. */
const READ_BYTES = 256 * 1024;

/**
 * The hub's blobs in a directory of its own, mode 0700:
 *
 *     blobs/sha256/ab/<64 digits>   a blob, whole, synced before it has this name
 *     uploads/<repository>.<uuid>   what is being uploaded
 *     tmp/                          manifests and what comes from other managers, on their way to blobs; emptied at
 *                                   each start
 */
export class HubBlobFiles {
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
  }

  /** Makes what is missing of the directories. */
  static async open(root: string): Promise<HubBlobFiles> {
    const files = new HubBlobFiles(root);
    await rm(path.join(root, 'tmp'), { recursive: true, force: true });
    for (const folder of ['blobs/sha256', 'uploads', 'tmp']) {
      await mkdir(path.join(root, folder), { recursive: true, mode: 0o700 });
    }
    return files;
  }

  async size(digest: string): Promise<number | undefined> {
    return (await ifFile(stat(this.#pathOf(digest))))?.size;
  }

  async open(digest: string): Promise<OpenBlob | undefined> {
    const file = await ifFile(open(this.#pathOf(digest), 'r'));
    if (file === undefined) {
      return undefined;
    }
    try {
      return new OpenBlob(file, (await file.stat()).size);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  read(digest: string): Promise<Buffer | undefined> {
    return ifFile(readFile(this.#pathOf(digest)));
  }

  async put(digest: string, bytes: Buffer): Promise<void> {
    const temporary = path.join(this.#root, 'tmp', randomUUID());
    this.room().look();
    try {
      await using file = await open(temporary, 'wx', 0o600);
      failpoint('hub.blob.write');
      await file.writeFile(bytes);
      await file.sync();
      failpoint('hub.blob.publish');
      await this.#place(temporary, digest);
    } catch (error) {
      await rm(temporary, { force: true });
      throw toEngineError(error);
    }
  }

  async createIncoming(blob: { digest: string; size: number }): Promise<IncomingBlob> {
    const temporary = path.join(this.#root, 'tmp', randomUUID());
    const reserve = this.room();
    reserve.look();
    failpoint('hub.fetch.create');
    try {
      const file = await open(temporary, 'wx+', 0o600);
      const place = (digest: string) => this.#place(temporary, digest);
      return new IncomingBlob({ path: temporary, file, place, reserve }, blob);
    } catch (error) {
      throw toEngineError(error);
    }
  }

  async remove(digest: string): Promise<boolean> {
    failpoint('hub.blob.remove');
    return (await ifFile(unlink(this.#pathOf(digest)).then(() => true))) ?? false;
  }

  async digests(): Promise<string[]> {
    const root = path.join(this.#root, 'blobs/sha256');
    const found: string[] = [];
    for (const folder of await readdir(root)) {
      const names = await readdir(path.join(root, folder));
      found.push(...names.map((name) => `sha256:${name}`).filter((digest) => DIGEST.test(digest)));
    }
    return found;
  }

  async createUpload(id: string): Promise<HubUploadFile> {
    const file = this.#uploadPath(id);
    this.room().look();
    failpoint('hub.upload.create');
    try {
      await (await open(file, 'wx', 0o600)).close();
    } catch (error) {
      throw toEngineError(error);
    }
    return this.#upload(file, 0);
  }

  async findUpload(id: string): Promise<HubUploadFile | undefined> {
    const file = this.#uploadPath(id);
    const found = await ifFile(stat(file));
    return found && this.#upload(file, found.size);
  }

  async uploads(): Promise<{ id: string; size: number; changedMs: number }[]> {
    const names = await readdir(path.join(this.#root, 'uploads'));
    const found = await Promise.all(
      names
        .filter((id) => UPLOAD.test(id))
        .map(async (id) => {
          const status = await ifFile(stat(this.#uploadPath(id)));
          return status && { id, size: status.size, changedMs: status.mtimeMs };
        }),
    );
    return found.filter((one) => one !== undefined);
  }

  #upload(file: string, size: number): HubUploadFile {
    const place = (digest: string) => this.#place(file, digest);
    return new HubUploadFile({ path: file, place, reserve: () => this.room() }, size);
  }

  /** Gives a file, which is synced, the name of its digest: for good when it resolves. */
  async #place(file: string, digest: string): Promise<void> {
    const target = this.#pathOf(digest);
    const directory = path.dirname(target);
    if ((await mkdir(directory, { recursive: true, mode: 0o700 })) !== undefined) {
      await syncDirectory(path.dirname(directory));
    }
    await rename(file, target);
    await syncDirectory(directory);
  }

  /** Of the disk that they are on. */
  room(): DiskReserve {
    return new DiskReserve(() => {
      const { bavail, bsize } = statfsSync(this.#root);
      return bavail * bsize;
    }, NO_SPACE);
  }

  #pathOf(digest: string): string {
    const [, start = '', rest = ''] = DIGEST.exec(digest) ?? [];
    invariant(start !== '', `${JSON.stringify(digest)} is no digest`);
    return path.join(this.#root, 'blobs/sha256', start, start + rest);
  }

  #uploadPath(id: string): string {
    invariant(UPLOAD.test(id), `${JSON.stringify(id)} is no upload`);
    return path.join(this.#root, 'uploads', id);
  }
}

/** A blob that stays readable whatever becomes of its name. */
class OpenBlob implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly size: number;

  constructor(file: FileHandle, size: number) {
    this.#file = file;
    this.size = size;
  }

  /** For readers that close nothing. */
  get fd(): number {
    return this.#file.fd;
  }

  stream(start: number, end: number): Readable {
    return this.#file.createReadStream({ start, end, highWaterMark: READ_BYTES, autoClose: true });
  }

  async read(into: Buffer, position: number): Promise<number> {
    const { bytesRead } = await this.#file.read(into, 0, into.length, position);
    invariant(bytesRead > 0, `a blob ends at byte ${position} of ${this.size}`);
    return bytesRead;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}

async function ifFile<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      return undefined;
    }
    throw error;
  }
}

async function syncDirectory(directory: string): Promise<void> {
  await using handle = await open(directory, 'r');
  await handle.sync();
}
