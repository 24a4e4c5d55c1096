import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { errnoOf } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { NEWLINE } from './record.ts';
import { newRenderer } from './render.ts';
import type { RenderOptions } from './render.ts';
import { findTail } from './tail.ts';
import { FileWatch } from './watch.ts';

export interface LogReadOptions extends Omit<RenderOptions, 'from'> {
  /** Lines from the end; undefined = all. */
  tail?: number;
  /** Bytes of the log to skip; a record that begins before is left out. */
  fromOffset?: number;
  /** Go on with what is written later, until `ended` resolves (no more will be written) and the file is read. */
  follow?: { ended: Promise<unknown> };
  signal: AbortSignal;
}

/**
 * The log as the client reads it: frames, or raw bytes for a terminal. A slow reader holds up the reading, nothing
 * else; no more than two chunks are in memory. A missing file is an empty log. Ends quietly when aborted or destroyed.
 */
export function openLog(path: string, options: LogReadOptions): Readable {
  return new LogStream(path, options);
}

/**
 * Not `Readable.from`: that one waits for the generator when it is destroyed, and the generator waits for the file to
 * grow.
 */
class LogStream extends Readable {
  readonly #abort = new AbortController();
  readonly #chunks: AsyncGenerator<Buffer>;

  constructor(path: string, options: LogReadOptions) {
    super({ highWaterMark: limits.logChunkBytes });
    const signal = AbortSignal.any([options.signal, this.#abort.signal]);
    this.#chunks = readLog(path, { ...options, signal });
  }

  override _read(): void {
    void this.#pull();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#abort.abort();
    // Closes the file, at once or when the read under way is done.
    void this.#chunks.return(undefined);
    callback(error);
  }

  async #pull(): Promise<void> {
    try {
      const { value, done } = await this.#chunks.next();
      this.push(done ? null : value);
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  }
}

/** As `openLog`, as chunks. */
export async function* readLog(path: string, options: LogReadOptions): AsyncGenerator<Buffer> {
  const file = await openIfThere(path);
  if (file === undefined) {
    return;
  }
  await using source = new LogSource(path, file);
  // Watched before the first read: what is written in between is noticed.
  using watch = options.follow === undefined ? undefined : followed(path, options);
  let ended = false;
  const noteEnd = async (): Promise<void> => {
    await options.follow?.ended;
    ended = true;
    watch?.poke();
  };
  void noteEnd();
  const renderer = await positioned(source, options);
  for (;;) {
    // Asked before the read: what was written before the end is read after it.
    const isLast = ended || watch === undefined;
    for (;;) {
      const chunk = await source.read();
      if (options.signal.aborted) {
        return;
      }
      if (chunk === undefined) {
        break;
      }
      const { output, finished } = renderer.render(chunk.bytes, chunk.offset);
      if (output.length > 0) {
        yield output;
      }
      if (finished || options.signal.aborted) {
        return;
      }
    }
    if (isLast) {
      return;
    }
    await watch.changed();
    await source.followRotation();
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      return undefined;
    }
    throw error;
  }
}

function followed(path: string, options: LogReadOptions): FileWatch {
  const watch = new FileWatch(path);
  options.signal.addEventListener('abort', () => watch.poke(), { once: true });
  return watch;
}

async function positioned(
  source: LogSource,
  options: LogReadOptions,
): Promise<ReturnType<typeof newRenderer>> {
  if (options.tail === undefined) {
    source.seek(options.fromOffset ?? 0);
    return newRenderer(options);
  }
  const from = await source.seekTail(options.tail);
  return newRenderer({ ...options, from });
}

/** A log file and how far it was read. Keeps the beginning of a record whose end is not written yet. */
class LogSource implements AsyncDisposable {
  readonly #path: string;
  #file: FileHandle;
  #position = 0;
  /** Length of the files before a rotation: offsets given out never go back. */
  #rotatedBytes = 0;
  #rest: Buffer = Buffer.alloc(0);

  constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
  }

  seek(offset: number): void {
    this.#position = offset;
  }

  async seekTail(lines: number): Promise<{ stdout: number; stderr: number }> {
    const { size } = await this.#file.stat();
    const start = await findTail(this.#file, size, lines);
    this.#position = Math.min(start.stdout, start.stderr, size);
    return start;
  }

  /** The next whole records, possibly none; undefined at the end of what is written. */
  async read(): Promise<{ bytes: Buffer; offset: number } | undefined> {
    const kept = this.#rest.length;
    // A record longer than a chunk makes its buffer grow; the monitor's are at most 8 kB.
    const buffer = Buffer.allocUnsafeSlow(Math.max(limits.logChunkBytes, kept * 2));
    const { bytesRead } = await this.#file.read(buffer, kept, buffer.length - kept, this.#position);
    if (bytesRead === 0) {
      return undefined;
    }
    this.#rest.copy(buffer);
    const offset = this.#rotatedBytes + this.#position - kept;
    this.#position += bytesRead;
    const filled = kept + bytesRead;
    const whole = buffer.subarray(0, filled).lastIndexOf(NEWLINE) + 1;
    // Copied, because the renderer makes its output in the buffer. What never ends is no record: dropped.
    this.#rest =
      filled - whole > limits.logRecordBytesMax
        ? Buffer.alloc(0)
        : Buffer.from(buffer.subarray(whole, filled));
    return { bytes: buffer.subarray(0, whole), offset };
  }

  /** After a change: goes on with the new file when the log was rotated, or from its start when truncated. */
  async followRotation(): Promise<void> {
    const now = await this.#file.stat();
    if (now.size < this.#position) {
      this.#startOver();
      return;
    }
    if (now.nlink > 0 || now.size > this.#position) {
      return;
    }
    const successor = await openIfThere(this.#path);
    if (successor !== undefined) {
      await this.#file.close();
      this.#file = successor;
      this.#startOver();
    }
  }

  #startOver(): void {
    this.#rotatedBytes += this.#position;
    this.#position = 0;
    this.#rest = Buffer.alloc(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}
