import type { ServerResponse } from 'node:http';
import { limits } from '../../../daemon/base/limits.ts';
import type { RegistryBlob } from '../../types/hub/registry.ts';

type Read = NonNullable<RegistryBlob['read']>;

/** Memory that bytes were sent from, for those that are sent next: the kernel gives new memory page by page. */
const spare: Buffer[] = [];

/**
 * Sends bytes of a blob, from `start` to `end`, both included, as the body of an answer and ends it. While a piece goes
 * to the client the next one comes from the disk. Rejects with ERR_STREAM_PREMATURE_CLOSE when the client hangs up, and
 * with what reading throws.
 */
export async function sendRange(
  read: Read,
  { start, end }: { start: number; end: number },
  res: ServerResponse,
): Promise<void> {
  let position = start;
  let sending: Promise<void> = Promise.resolve();
  while (position <= end) {
    const buffer = spare.pop() ?? Buffer.allocUnsafeSlow(limits.hubSentPieceBytes);
    const piece = buffer.subarray(0, Math.min(buffer.length, end + 1 - position));
    const [bytes] = await Promise.all([read(piece, position), sending]);
    position += bytes;
    sending = send(res, piece.subarray(0, bytes)).then(() => giveBack(buffer));
    // Told by whoever waits for it: the next turn, or the last line.
    sending.catch(() => undefined);
  }
  await sending;
  res.end();
}

/** Resolves when the kernel has taken all of it. Memory of what failed may still be in use: it is not given back. */
function send(res: ServerResponse, piece: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    if (res.destroyed) {
      reject(hungUp());
      return;
    }
    const closed = (): void => reject(hungUp());
    res.once('close', closed);
    res.write(piece, (error) => {
      res.off('close', closed);
      if (error) {
        reject(hungUp());
      } else {
        resolve();
      }
    });
  });
}

function giveBack(buffer: Buffer): void {
  if (spare.length < limits.hubSentPiecesSpare) {
    spare.push(buffer);
  }
}

function hungUp(): Error {
  return Object.assign(new Error('the client hung up'), { code: 'ERR_STREAM_PREMATURE_CLOSE' });
}
