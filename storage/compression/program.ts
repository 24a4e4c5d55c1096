import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { existsSync } from 'node:fs';
import { pipeline, type Readable, type Writable } from 'node:stream';
import { errorText, notImplemented } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { claimChild, expectChildren } from '../../daemon/base/kernel/processes/children.ts';

export interface ProgramRequest {
  /** Of the format, for messages. */
  name: string;
  /** Program, to be found in fixed places of the host, and its arguments. */
  argv: readonly [string, ...string[]];
  /** Begins messages. */
  what: string;
  /** Makes the error that is thrown: what the program said, and what its input failed with. */
  damaged: (why: string, inputError: unknown) => Error;
}

/** No process of this engine looks for programs or libraries in a container's files (CVE-2019-14271). */
const PROGRAM_DIRECTORIES = ['/usr/bin', '/bin', '/usr/local/bin'];
/** Debian's user `nobody`: a program that decodes untrusted bytes gets no rights. */
const NOBODY = 65_534;

type Program = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * Sends `input` through a program of the host, in an empty environment and without rights. When the reader stops, or
 * fails, the program is killed; it has ended when this has.
 */
export async function* throughProgram(input: Readable, request: ProgramRequest): AsyncGenerator<Buffer> {
  const path = findProgram(request);
  using started = start(path, request.argv.slice(1));
  const { child } = started;
  let complaint = '';
  child.stderr.on('data', (text: Buffer) => {
    complaint = (complaint + text.toString('utf8')).slice(0, limits.decompressorErrorBytes);
  });
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    // bzip2 passes over garbage behind its data with a remark and exit code 0: output on stderr means failure.
    child.once('close', (code, signal) =>
      resolve(complaint.trim() || (code === 0 ? '' : `ended with ${signal ?? code}`)),
    );
  });
  let inputError: unknown;
  pipeline(input, child.stdin, (error) => {
    inputError = error ?? undefined;
  });
  try {
    // A child's output is never decoded to text.
    yield* child.stdout as AsyncIterable<Buffer>;
    const failure = await ended;
    if (failure !== '' || inputError !== undefined) {
      throw request.damaged(failure || errorText(inputError), inputError);
    }
  } finally {
    input.destroy();
    child.kill('SIGKILL');
    await ended;
  }
}

function findProgram({ name, argv: [program], what }: ProgramRequest): string {
  const path = PROGRAM_DIRECTORIES.map((directory) => `${directory}/${program}`).find((file) =>
    existsSync(file),
  );
  if (path === undefined) {
    throw notImplemented(`${what}: ${name} needs the program ${program}, which this host does not have`);
  }
  return path;
}

/** Node reaps the child, on its own thread: the daemon's reaper must not take its exit. */
function start(path: string, args: readonly string[]): Disposable & { child: Program } {
  using _expected = expectChildren();
  const rights = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  const child = spawn(path, args, { env: {}, cwd: '/', stdio: ['pipe', 'pipe', 'pipe'], ...rights });
  const claimed = child.pid === undefined ? undefined : claimChild(child.pid);
  return { child, [Symbol.dispose]: () => claimed?.[Symbol.dispose]() };
}
