import { pipeline, Readable } from 'node:stream';
import type { TransformOptions } from 'node:stream';
import { createGunzip, type ZlibOptions } from 'node:zlib';
import { EngineError, errorText, invalidArgument } from '../../daemon/base/errors.ts';
import { formatOf, MAGIC_BYTES, type CompressionFormat } from './formats.ts';
import { throughProgram } from './program.ts';

/**
 * Turns what clients and registries send into plain tars before anything of a container's is looked at: gzip in
 * process, the rest by a program of the host that gets no other argument than to decompress.
 */

/** Inflates ahead while the consumer works: in turns, each piece waits for two threads to be scheduled. */
const CHUNK_BYTES = 512 * 1024;
const GUNZIP_OPTIONS: ZlibOptions & TransformOptions = {
  chunkSize: CHUNK_BYTES,
  readableHighWaterMark: 2 * CHUNK_BYTES,
};
/** Hands out what it has before it looks further: an error of later data does not take earlier data along. */
const IN_STEPS: ZlibOptions & TransformOptions = { chunkSize: 512, readableHighWaterMark: 1 };

/**
 * The bytes of `source`, decompressed when they begin as one of the formats does. A reader that stops ends the program;
 * the source is left as it is then. `what` begins error messages. With `inSteps` all that comes before damaged data is
 * yielded first; slow, to look at a beginning. Throws invalid_argument for damaged data, not_implemented when the host
 * has no program for it, and what the source throws.
 */
export async function* decompress(
  source: AsyncIterable<Buffer>,
  what: string,
  inSteps = false,
): AsyncGenerator<Buffer> {
  const chunks = source[Symbol.asyncIterator]();
  let start = Buffer.alloc(0);
  while (start.length < MAGIC_BYTES) {
    const next = await chunks.next();
    if (next.done === true) {
      break;
    }
    start = Buffer.concat([start, next.value]);
  }
  const all = prepend(start, chunks);
  const format = formatOf(start);
  yield* format === undefined ? all : decompressAs(format, all, what, inSteps);
}

/** As `decompress`, of data whose format is known. Chunks are kept until they are read: they must not be reused. */
export function decompressAs(
  format: CompressionFormat,
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  what: string,
  inSteps = false,
): AsyncGenerator<Buffer> {
  const input = Readable.from(chunks, { objectMode: true, highWaterMark: 1 });
  const { name, argv } = format;
  return argv === undefined
    ? gunzip(input, what, inSteps ? IN_STEPS : GUNZIP_OPTIONS)
    : throughProgram(input, {
        name,
        argv,
        damaged: (why, cause) => damaged(name, what, why, cause),
        what,
      });
}

async function* gunzip(
  input: Readable,
  what: string,
  options: ZlibOptions & TransformOptions,
): AsyncGenerator<Buffer> {
  const inflating = createGunzip(options);
  pipeline(input, inflating, () => {
    // A failure destroys the inflating end, and the loop below throws it.
  });
  try {
    yield* inflating;
  } catch (error) {
    throw damaged('gzip', what, errorText(error), error);
  } finally {
    input.destroy();
    inflating.destroy();
  }
}

async function* prepend(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  if (first.length > 0) {
    yield first;
  }
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
    yield next.value;
  }
}

/** An error of the source (a client that left, a full disk) stays what it is. */
function damaged(format: string, what: string, why: string, cause: unknown): EngineError {
  return cause instanceof EngineError
    ? cause
    : invalidArgument(`${what}: cannot decompress ${format}: ${why}`, { cause });
}
