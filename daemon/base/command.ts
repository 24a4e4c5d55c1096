import { spawn } from 'node:child_process';
import { claimChild } from './kernel/processes/children.ts';
import { limits } from './limits.ts';

/** How a helper program ended. Both success and failure have this shape. */
export interface CommandResult {
  argv: readonly string[];
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  timedOut: boolean;
  stdout: string;
  stderr: string;
}

/** A helper program that could not be started, failed or took too long. */
export class CommandError extends Error {
  readonly result: CommandResult;
  constructor(result: CommandResult, cause?: unknown) {
    const why = result.timedOut
      ? 'timed out'
      : result.signal
        ? `ended by ${result.signal}`
        : `exited with ${result.exitCode}`;
    super(`${result.argv[0]} ${why}: ${result.stderr.trim().slice(-2000)}`, { cause });
    this.name = 'CommandError';
    this.result = result;
  }
}

export interface CommandOptions {
  timeoutMs?: number;
  input?: string | Uint8Array;
  cwd?: string;
  /** The whole environment of the child. Only PATH by default: nothing of the daemon's own leaks. */
  env?: Record<string, string>;
  /** Bytes kept of each output stream. */
  outputBytesMax?: number;
  /** Kills it. */
  signal?: AbortSignal;
}

/** Runs `argv` without a shell and resolves with any exit code; rejects only when it could not be started. */
export function runCommand(
  argv: readonly [string, ...string[]],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const [file, ...args] = argv;
  const outputBytesMax = options.outputBytesMax ?? 1024 * 1024;
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      cwd: options.cwd,
      env: options.env ?? { PATH: process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin' },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const claimed = child.pid === undefined ? undefined : claimChild(child.pid);
    let timedOut = false;
    const kill = (): void => {
      child.kill('SIGKILL');
    };
    const timer = setTimeout(() => {
      timedOut = true;
      kill();
    }, options.timeoutMs ?? limits.commandTimeoutMs);
    options.signal?.addEventListener('abort', kill, { once: true });
    if (options.signal?.aborted === true) {
      kill();
    }
    const over = (): void => {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', kill);
    };
    const stdout = collect(child.stdout, outputBytesMax);
    const stderr = collect(child.stderr, outputBytesMax);
    child.stdin.on('error', () => {
      // EPIPE: the program does not read its input; its exit code tells whether that matters.
    });
    child.stdin.end(options.input);
    child.once('error', (error) => {
      over();
      reject(
        new CommandError(
          { argv, exitCode: null, signal: null, timedOut, stdout: stdout(), stderr: error.message },
          error,
        ),
      );
    });
    child.once('close', (exitCode, signal) => {
      over();
      claimed?.[Symbol.dispose]();
      resolve({ argv, exitCode, signal, timedOut, stdout: stdout(), stderr: stderr() });
    });
  });
}

/** As `runCommand`, but anything but exit code 0 rejects with `CommandError`. */
export async function mustRunCommand(
  argv: readonly [string, ...string[]],
  options?: CommandOptions,
): Promise<CommandResult> {
  const result = await runCommand(argv, options);
  if (result.exitCode !== 0) {
    throw new CommandError(result);
  }
  return result;
}

function collect(stream: NodeJS.ReadableStream, bytesMax: number): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    if (size < bytesMax) {
      chunks.push(chunk.subarray(0, bytesMax - size));
      size += chunk.length;
    }
  });
  return () => Buffer.concat(chunks).toString('utf8');
}
