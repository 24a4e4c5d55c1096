import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SentPieces, type HeldPiece, type ReadableBlob } from './sent-pieces.ts';

/** Of all answers. */
const pieces = new SentPieces();

/**
 * Sends bytes of a blob, from `start` to `end`, both included, as the body of an answer and ends it. While a piece goes
 * to the client the next one comes from the disk. Rejects with ERR_STREAM_PREMATURE_CLOSE when the client hangs up, and
 * with what reading throws.
 */
export async function sendRange(
  blob: ReadableBlob,
  { start, end }: { start: number; end: number },
  res: ServerResponse,
): Promise<void> {
  const { pieceBytes } = pieces;
  let sending: Promise<void> = Promise.resolve();
  for (let number = Math.floor(start / pieceBytes); number * pieceBytes <= end; number += 1) {
    const first = number * pieceBytes;
    const piece = pieces.hold(blob, number);
    // Where the piece is there and the kernel takes all of it at once, others have their turns between two pieces.
    const [bytes] = await givenBackOnFailure(piece, Promise.all([piece.bytes, sending, nextTurn()]));
    sending = sendPiece(res, piece, bytes.subarray(Math.max(0, start - first), end + 1 - first));
    // Told by whoever waits for it: the next turn, or the last line.
    sending.catch(() => undefined);
  }
  await sending;
  res.end();
}

async function givenBackOnFailure<T>(piece: HeldPiece, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    // Others may wait for what is read by this answer's blob, which is closed next.
    await Promise.allSettled([piece.bytes]);
    piece.giveBack(true);
    throw error;
  }
}

/** Memory of what failed may still be in use. */
async function sendPiece(res: ServerResponse, piece: HeldPiece, bytes: Buffer): Promise<void> {
  let isSent = false;
  try {
    await send(res, bytes);
    isSent = true;
  } finally {
    piece.giveBack(isSent);
  }
}

/** Resolves when the kernel has taken all of it. */
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

function hungUp(): Error {
  return Object.assign(new Error('the client hung up'), { code: 'ERR_STREAM_PREMATURE_CLOSE' });
}
