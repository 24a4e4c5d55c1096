import { statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { limits } from '../../daemon/base/limits.ts';
import { newRenderer } from './render.ts';
import type { Renderer, RenderOptions } from './render.ts';
import { listSegments } from './segments.ts';
import type { LogPosition } from './segments.ts';
import { LogSource } from './source.ts';
import { findTail } from './tail.ts';
import { FileWatch } from './watch.ts';

/** Output beside the log, of what the disk did not take of it. */
export interface OutputBeside {
  /** `poke` makes the reader look again, though the log has not grown. */
  listen(poke: () => void): void;
  /** A look at the log begins. */
  begin(): void;
  /** Takes what the log gave, rendered; returns that with what belongs before it. */
  merge(output: Buffer): Buffer;
  /** A look has found the end of the log: what is to follow what it gave, rendered as that is. */
  refused(): Buffer | undefined;
}

export interface LogReadOptions extends Omit<RenderOptions, 'fromOffsets'> {
  /** Lines from the end; undefined = all. */
  tail?: number;
  /** Where to begin, not with `tail`; undefined = at the oldest record that is kept. */
  from?: LogPosition;
  /**
   * Go on with what is written later, until `ended` resolves (no more will be written) and the file is read; with what
   * is told of `beside` it.
   */
  follow?: { ended: Promise<unknown>; beside?: OutputBeside | undefined };
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
    void this.#pull().catch((error: unknown) => {
      this.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#abort.abort();
    this.#close();
    callback(error);
  }

  #close(): void {
    // At once or when the read under way is done, an error of which has no reader any more.
    void this.#chunks.return(undefined).catch(() => undefined);
  }

  async #pull(): Promise<void> {
    const { value, done } = await this.#chunks.next();
    this.push(done ? null : value);
  }
}

/** As `openLog`, as chunks. */
export async function* readLog(path: string, options: LogReadOptions): AsyncGenerator<Buffer> {
  const started = await begin(path, options);
  if (started === undefined) {
    return;
  }
  await using source = started.source;
  const { renderer } = started;
  // Watched before the first read: what is written in between is noticed.
  using watch = options.follow === undefined ? undefined : followed(path, options);
  let ended = false;
  const noteEnd = (): void => {
    ended = true;
    watch?.poke();
  };
  void Promise.resolve(options.follow?.ended).then(noteEnd).catch(noteEnd);
  const beside = options.follow?.beside;
  beside?.listen(() => watch?.poke());
  for (;;) {
    // Both asked before the read: what was written before the end, or before the file was left, is read after it.
    const isLast = ended || watch === undefined;
    const isLeft = source.isLeft();
    beside?.begin();
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
        yield beside?.merge(output) ?? output;
      }
      if (finished || options.signal.aborted) {
        return;
      }
    }
    if (isLeft && (await source.next())) {
      continue;
    }
    const refused = beside?.refused();
    if (refused !== undefined) {
      yield refused;
    }
    if (isLast) {
      return;
    }
    await watch.changed();
    await source.followOthers();
  }
}

function followed(path: string, options: LogReadOptions): FileWatch {
  const watch = new FileWatch(path);
  options.signal.addEventListener('abort', () => watch.poke(), { once: true });
  return watch;
}

/** Opens the log where the reading begins; undefined when there is none. */
async function begin(
  path: string,
  options: LogReadOptions,
): Promise<{ source: LogSource; renderer: Renderer } | undefined> {
  if (options.tail === undefined) {
    const source = await LogSource.open(path, options.from ?? firstSince(path, options.sinceNano));
    return source && { source, renderer: newRenderer(options) };
  }
  const { start, records } = await findTail(path, options.tail);
  const source = await LogSource.open(path, start);
  return source && { source, renderer: newRenderer({ ...options, fromOffsets: records }) };
}

const OLDEST: LogPosition = { generation: 0, offset: 0 };
/** A file system's clock may lag behind the monitor's by a tick. */
const MTIME_SLACK_NANO = 1_000_000_000n;

/** Past files that were finished before the first line that is asked for. */
function firstSince(path: string, sinceNano: bigint | undefined): LogPosition {
  if (sinceNano === undefined) {
    return OLDEST;
  }
  const first = listSegments(path).find(({ path: file, kind }) => {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false });
    return kind === 'current' || (found !== undefined && found.mtimeNs + MTIME_SLACK_NANO >= sinceNano);
  });
  return first === undefined ? OLDEST : { generation: first.generation, offset: 0 };
}
