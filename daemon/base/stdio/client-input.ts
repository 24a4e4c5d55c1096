import type { Readable } from 'node:stream';
import { DetachScanner } from './detach-keys.ts';

/** How a client's input ended: end of input, the detach keys, or the client vanished. */
export type InputEnd = 'end' | 'detached' | 'gone';

/**
 * Reads a client's input into `write`, one piece at a time, until its end. `detachKeys` are looked for only where
 * given (terminals). Never rejects: a container that takes no more input just ends the reading.
 */
export async function pumpClientInput(
  socket: Readable,
  options: { write(data: Buffer): Promise<void>; detachKeys?: readonly number[] },
): Promise<InputEnd> {
  const scanner = options.detachKeys && new DetachScanner(options.detachKeys);
  try {
    // Not `for await` over the socket itself: leaving such a loop destroys the socket, and output may still be due.
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      // A socket without an encoding yields Buffers.
      const data = chunk as Buffer;
      const { forward, detached } = scanner?.scan(data) ?? { forward: data, detached: false };
      if (forward.length > 0) {
        await options.write(forward);
      }
      if (detached) {
        return 'detached';
      }
    }
    return 'end';
  } catch {
    // The client's connection broke, or the container closed its input: both end the input, neither is our failure.
    return 'gone';
  }
}
