import type { Readable } from 'node:stream';
import { EngineError } from '../../daemon/base/errors.ts';
import { throughProgram } from './program.ts';

const USUAL_LEVEL = 3;
/** Above it zstd wants memory that those who read the blob may not give. */
const LEVEL_MAX = 19;

/**
 * A stream as zstd, by the host's program: the same bytes each time. `level`: 0 to 22, where the last ones are 19.
 * Throws not_implemented when the host has no such program, and what the source throws.
 */
export function compressZstd(
  source: Readable,
  level: number | undefined,
  what: string,
): AsyncGenerator<Buffer> {
  const number = Math.min(LEVEL_MAX, Math.max(1, level ?? USUAL_LEVEL));
  return throughProgram(source, {
    name: 'zstd',
    argv: ['zstd', '-c', '-q', `-${number}`],
    damaged: (why, cause) =>
      cause instanceof EngineError
        ? cause
        : new EngineError('internal', `${what}: cannot compress zstd: ${why}`, { cause }),
    what,
  });
}
