import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { EngineError, errorText, invalidArgument, notImplemented } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { COMPRESSION_MAGIC_BYTES } from '../layers/source.ts';

/**
 * Turns what a client sends into a plain tar before anything of a container's is looked at: gzip in process, the rest
 * by a program of the host, found in fixed places and told nothing but to decompress. No process of this engine ever
 * looks for programs or libraries in a container's files (CVE-2019-14271).
 */
interface Format {
  name: string;
  magic: Buffer;
  /** Program and arguments; undefined = in process. */
  argv?: readonly [string, ...string[]];
}

const MEMORY = limits.decompressMemoryBytesMax;
const FORMATS: readonly Format[] = [
  { name: 'gzip', magic: Buffer.from('1f8b', 'hex') },
  { name: 'bzip2', magic: Buffer.from('BZh', 'latin1'), argv: ['bzip2', '-d', '-c'] },
  { name: 'xz', magic: Buffer.from('fd377a585a00', 'hex'), argv: ['xz', '-d', '-c', `-M${MEMORY}`] },
  {
    name: 'zstd',
    magic: Buffer.from('28b52ffd', 'hex'),
    argv: ['zstd', '-d', '-c', '-q', `--memory=${MEMORY / 1024 / 1024}MB`],
  },
];
const PROGRAM_DIRECTORIES = ['/usr/bin', '/bin', '/usr/local/bin'];
const ERROR_TEXT_BYTES = 2000;

/**
 * The stream's bytes, decompressed when they begin as one of the formats does. Whoever stops reading ends the program.
 * Rejects with invalid_argument for damaged data, not_implemented when the host has no program for it.
 */
export async function* decompress(source: Readable, what: string): AsyncGenerator<Buffer> {
  // A request's body is never decoded to text: its pieces are Buffers.
  const chunks = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let first = Buffer.alloc(0);
  while (first.length < COMPRESSION_MAGIC_BYTES) {
    const next = await chunks.next();
    if (next.done === true) {
      break;
    }
    first = Buffer.concat([first, next.value]);
  }
  const start = first;
  const format = FORMATS.find(({ magic }) => start.subarray(0, magic.length).equals(magic));
  const all = prepend(start, chunks);
  if (format === undefined) {
    yield* all;
  } else if (format.argv === undefined) {
    yield* inflate(all, what);
  } else {
    yield* byProgram(all, { ...format, argv: format.argv }, what);
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

async function* inflate(chunks: AsyncIterable<Buffer>, what: string): AsyncGenerator<Buffer> {
  const gunzip = createGunzip({ chunkSize: 256 * 1024 });
  const input = Readable.from(chunks);
  pipeline(input, gunzip, () => {
    // A failure destroys the inflating end, and the loop below throws it.
  });
  try {
    yield* gunzip;
  } catch (error) {
    throw damaged('gzip', what, errorText(error), error);
  } finally {
    gunzip.destroy();
  }
}

async function* byProgram(
  chunks: AsyncIterable<Buffer>,
  format: Format & { argv: readonly [string, ...string[]] },
  what: string,
): AsyncGenerator<Buffer> {
  const [program, ...args] = format.argv;
  const path = PROGRAM_DIRECTORIES.map((directory) => `${directory}/${program}`).find((file) =>
    existsSync(file),
  );
  if (path === undefined) {
    throw notImplemented(
      `${what}: ${format.name} needs the program ${program}, which this host does not have`,
    );
  }
  const child = spawn(path, args, { env: {}, cwd: '/', stdio: ['pipe', 'pipe', 'pipe'] });
  let complaint = '';
  child.stderr.on('data', (text: Buffer) => {
    complaint = (complaint + text.toString('utf8')).slice(0, ERROR_TEXT_BYTES);
  });
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(code === 0 ? '' : complaint.trim() || `${code ?? signal}`));
  });
  let inputError: unknown;
  pipeline(Readable.from(chunks), child.stdin, (error) => {
    inputError = error ?? undefined;
  });
  try {
    // A child's output is never decoded to text.
    yield* child.stdout as AsyncIterable<Buffer>;
    const failure = await ended;
    if (failure !== '') {
      throw inputError instanceof EngineError ? inputError : damaged(format.name, what, failure, inputError);
    }
  } finally {
    child.kill('SIGKILL');
  }
}

function damaged(format: string, what: string, why: string, cause: unknown): EngineError {
  return cause instanceof EngineError
    ? cause
    : invalidArgument(`${what}: cannot decompress ${format}: ${why}`, { cause });
}
