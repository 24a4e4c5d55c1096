import type { ProgressMessage } from '../../../api/types/image.ts';
import type { PullOptions } from '../../../api/types/ports.ts';
import { errorText, isEngineError } from '../../base/errors.ts';

/** A pull that did not bring its image. */
export interface FailedPull {
  /** As it was asked for: `busybox:1.36`. */
  name: string;
  reason: string;
}

/** Tells of a pull that fails; a client that has left, and what is asked for wrongly, is no failure. */
export async function* tellingFailure(
  messages: AsyncIterable<ProgressMessage>,
  { name, tag = '' }: Pick<PullOptions, 'name' | 'tag'>,
  told: ((failed: FailedPull) => void) | undefined,
): AsyncGenerator<ProgressMessage> {
  try {
    yield* messages;
  } catch (error) {
    if (!isEngineError(error, 'canceled') && !isEngineError(error, 'invalid_argument')) {
      const separator = tag.includes(':') ? '@' : ':';
      told?.({ name: tag === '' ? name : `${name}${separator}${tag}`, reason: errorText(error) });
    }
    throw error;
  }
}
