import { expect, test } from 'vitest';
import { SentPieces, type ReadableBlob } from '../../../../api/hub/registry/sent-pieces.ts';

/** A blob of bytes that count up, which notes from where it was read. */
function blobOf(digest: string, size: number): ReadableBlob & { reads: number[] } {
  const reads: number[] = [];
  return {
    digest,
    size,
    reads,
    read: (into, position) => {
      reads.push(position);
      // Less than is wanted, as a disk may give.
      const bytes = Math.min(into.length, 3);
      for (let at = 0; at < bytes; at += 1) {
        into[at] = position + at;
      }
      return Promise.resolve(bytes);
    },
  };
}

test('a piece is read once for all who want it at the same time, and for those who come soon after', async () => {
  const blob = blobOf('a', 6);
  const pieces = new SentPieces(4, 2);
  const [first, second] = [pieces.hold(blob, 0), pieces.hold(blob, 0)];
  expect(await second.bytes).toEqual(Buffer.from([0, 1, 2, 3]));
  expect(await first.bytes).toBe(await second.bytes);
  first.giveBack(true);
  second.giveBack(true);
  expect(await pieces.hold(blob, 0).bytes).toEqual(Buffer.from([0, 1, 2, 3]));
  expect(blob.reads).toEqual([0, 3]);
});

test('the last piece of a blob is as long as what is left of it', async () => {
  const pieces = new SentPieces(4, 2);
  expect(await pieces.hold(blobOf('a', 6), 1).bytes).toEqual(Buffer.from([4, 5]));
});

/** Where the bytes of a piece lay, which so many had at a time. */
async function memoryOf(
  pieces: SentPieces,
  { blob, number, holders }: { blob: ReadableBlob; number: number; holders: number },
): Promise<ArrayBufferLike> {
  const held = Array.from({ length: holders }, () => pieces.hold(blob, number));
  const all = await Promise.all(held.map(async ({ bytes }) => (await bytes).buffer));
  held.forEach((piece) => piece.giveBack(true));
  return all[0] ?? new ArrayBuffer(0);
}

test('memory of a piece that one answer had is used next, that of one that is held never', async () => {
  const blob = blobOf('a', 100);
  const pieces = new SentPieces(4, 2);
  const held = pieces.hold(blob, 0);
  const one = await memoryOf(pieces, { blob, number: 1, holders: 1 });
  expect(await memoryOf(pieces, { blob, number: 2, holders: 1 })).toBe(one);
  expect(await held.bytes).toEqual(Buffer.from([0, 1, 2, 3]));
});

test('what several had stays for those who come later, up to a number, the longest unused goes first', async () => {
  const blob = blobOf('a', 100);
  const pieces = new SentPieces(4, 2);
  const [one, two] = [
    await memoryOf(pieces, { blob, number: 1, holders: 2 }),
    await memoryOf(pieces, { blob, number: 2, holders: 2 }),
  ];
  expect(await memoryOf(pieces, { blob, number: 1, holders: 1 })).toBe(one);
  expect(await memoryOf(pieces, { blob, number: 3, holders: 1 })).toBe(two);
});

test('memory of an answer that broke off is not used again', async () => {
  const blob = blobOf('a', 100);
  const pieces = new SentPieces(4, 1);
  const broken = pieces.hold(blob, 0);
  const { buffer } = await broken.bytes;
  broken.giveBack(false);
  expect((await pieces.hold(blob, 1).bytes).buffer).not.toBe(buffer);
});

test('what cannot be read rejects for all who wait, and is read anew by the next', async () => {
  const blob = blobOf('a', 4);
  let isBroken = true;
  const { read } = blob;
  blob.read = async (into, position) => {
    if (isBroken) {
      throw new Error('EIO');
    }
    return await read(into, position);
  };
  const pieces = new SentPieces(4, 1);
  const [first, second] = [pieces.hold(blob, 0), pieces.hold(blob, 0)];
  await expect(first.bytes).rejects.toThrow('EIO');
  await expect(second.bytes).rejects.toThrow('EIO');
  first.giveBack(true);
  second.giveBack(true);
  isBroken = false;
  expect(await pieces.hold(blob, 0).bytes).toEqual(Buffer.from([0, 1, 2, 3]));
});
