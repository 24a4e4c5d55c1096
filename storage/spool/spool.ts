import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rm, statfs, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { EngineError, invalidArgument } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { limits } from '../../daemon/base/limits.ts';
import { decompress } from '../compression/decompress.ts';
import { GrowingSpool } from './growing-spool.ts';
import { PlacedSpool } from './placed-spool.ts';

/** Bytes gathered before one write. */
const WRITE_BYTES = 1024 * 1024;
/** Bytes between two looks at the free space. */
const SPACE_CHECK_BYTES = 64 * 1024 * 1024;

/** How a stream is put on disk; `what` begins error messages. */
export interface SpoolOptions {
  what: string;
  signal: AbortSignal;
  seen?: (chunk: Buffer) => void;
}

export interface FillOptions extends SpoolOptions {
  decompress: boolean;
}

/** A request's body on disk, in a file without a name: it goes when it is closed, or when the process ends. */
export class Spool implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly size: number;

  constructor(file: FileHandle, size: number) {
    this.#file = file;
    this.size = size;
  }

  /** All threads of the process may read it. */
  get fd(): number {
    return this.#file.fd;
  }

  async read(offset: number, length: number): Promise<Buffer> {
    const bytes = Buffer.alloc(length);
    let done = 0;
    while (done < length) {
      const { bytesRead } = await this.#file.read(bytes, done, length - done, offset + done);
      if (bytesRead === 0) {
        throw invalidArgument(`the tarball ends at byte ${offset + done}`);
      }
      done += bytesRead;
    }
    return bytes;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}

/** Where spools are made: `<dataRoot>/tmp`, ours alone. */
export class SpoolDirectory {
  readonly #path: string;
  readonly #removalsEnd: () => Promise<void>;

  /** `removalsEnd` resolves when all that is being deleted has gone. */
  constructor(dataRoot: string, removalsEnd: () => Promise<void>) {
    this.#path = join(dataRoot, 'tmp');
    this.#removalsEnd = removalsEnd;
  }

  /** Makes the directory and removes what a crash between open and unlink left in it. */
  async prepare(): Promise<void> {
    await mkdir(this.#path, { recursive: true, mode: 0o700 });
    // The directory itself stays: on a full disk it could not be made again.
    for (const name of await readdir(this.#path)) {
      await rm(join(this.#path, name), { recursive: true, force: true });
    }
  }

  /** A spool that `write` fills, perhaps on another thread; it answers how many bytes it wrote. */
  async written(write: (fd: number) => Promise<number>): Promise<Spool> {
    const file = await this.#openHidden();
    try {
      return new Spool(file, await write(file.fd));
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /**
   * Writes a stream to disk; when that is asked for and it is compressed as a whole, decompressed. Every piece goes
   * through `seen` in order, as it is written. Rejects as `decompress`, with what `seen` throws, with `canceled` when
   * the signal fires, resource_exhausted when the disk is about to fill; then nothing is left.
   */
  async fill(source: Readable, options: FillOptions): Promise<Spool> {
    const file = await this.#openHidden();
    try {
      failpoint('images.load.spool');
      // A client that stalls is cut off too, not only one that hangs up.
      addAbortSignal(options.signal, source);
      const size = await this.#copy(file, source, options);
      return new Spool(file, size);
    } catch (error) {
      await file.close();
      throw options.signal.aborted ? new EngineError('canceled', `${options.what}: canceled`) : error;
    }
  }

  /** An empty file to fill piece by piece. */
  async open(what: string): Promise<GrowingSpool> {
    const file = await this.#openHidden();
    try {
      failpoint('images.pull.spool');
      return new GrowingSpool(file, () => this.#checkSpace(what));
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** An empty file for contents that come at the same time. */
  async placed(what: string): Promise<PlacedSpool> {
    return new PlacedSpool(await this.#openHidden(), () => this.#checkSpace(what));
  }

  async #openHidden(): Promise<FileHandle> {
    const path = join(this.#path, `spool-${randomBytes(8).toString('hex')}`);
    const file = await open(path, 'wx+', 0o600);
    try {
      await unlink(path);
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async #copy(file: FileHandle, source: Readable, options: FillOptions): Promise<number> {
    let pending: Buffer[] = [];
    let pendingBytes = 0;
    let size = 0;
    let nextSpaceCheck = 0;
    const flush = async (): Promise<void> => {
      if (size >= nextSpaceCheck) {
        await this.#checkSpace(options.what);
        nextSpaceCheck = size + SPACE_CHECK_BYTES;
      }
      await writeAll(file, pending);
      size += pendingBytes;
      pending = [];
      pendingBytes = 0;
    };
    // A request's body is never decoded to text: its pieces are Buffers. And the request must live to be answered.
    const bytes = source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    for await (const chunk of options.decompress ? decompress(bytes, options.what) : bytes) {
      options.signal.throwIfAborted();
      options.seen?.(chunk);
      pending.push(chunk);
      pendingBytes += chunk.length;
      if (pendingBytes >= WRITE_BYTES) {
        await flush();
      }
    }
    await flush();
    return size;
  }

  async #checkSpace(what: string): Promise<void> {
    if (await this.#hasSpace()) {
      return;
    }
    await this.#removalsEnd();
    if (!(await this.#hasSpace())) {
      throw new EngineError('resource_exhausted', `${what}: no space left on device (${this.#path})`);
    }
  }

  async #hasSpace(): Promise<boolean> {
    const { bavail, bsize } = await statfs(this.#path);
    return bavail * bsize >= limits.diskReserveBytes;
  }
}

async function writeAll(file: FileHandle, chunks: readonly Buffer[]): Promise<void> {
  if (chunks.length === 0) {
    return;
  }
  const bytes = chunks.reduce((total, chunk) => total + chunk.length, 0);
  const { bytesWritten } = await file.writev(chunks);
  if (bytesWritten < bytes) {
    // A short write: the rest one by one, which reports why.
    const rest = Buffer.concat(chunks).subarray(bytesWritten);
    await file.appendFile(rest);
  }
}
