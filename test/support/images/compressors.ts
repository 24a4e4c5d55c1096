import { execFileSync } from 'node:child_process';

/** Programs that compress as the engine must be able to undo. */
export const COMPRESSORS = ['gzip', 'bzip2', 'xz', 'zstd'] as const;
export type Compressor = (typeof COMPRESSORS)[number];

/** `plain` as the program of this machine compresses it. */
export function compressed(program: Compressor, plain: Buffer, args: readonly string[] = []): Buffer {
  return execFileSync(program, ['-c', ...args], {
    input: plain,
    stdio: ['pipe', 'pipe', 'ignore'],
    maxBuffer: 2 ** 30,
  });
}
