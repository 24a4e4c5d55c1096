import { expect, test } from 'vitest';
import { encodeHeader, padding, TAR_END } from '../../../storage/tar/encode.ts';
import { ClampedTimes } from '../../../storage/tar/clamped-times.ts';
import { untar } from '../../support/images/untar.ts';

const CONTENT = Buffer.from('content');

/** A tar of one file of each time, in pieces of so many bytes. */
function* tarOf(seconds: readonly number[], pieceBytes: number): Generator<Buffer> {
  const members = seconds.map((time, position) => {
    const header = encodeHeader({
      name: `${'d/'.repeat(60)}${position}`,
      type: 'file',
      size: CONTENT.length,
      mode: 0o640,
      uid: 3_000_000,
      gid: 2,
      mtime: { seconds: time, nanoseconds: 0 },
      attributes: new Map([['user.a', Buffer.from([0, 255])]]),
    });
    return Buffer.concat([header, CONTENT, padding(CONTENT.length)]);
  });
  const all = Buffer.concat([...members, TAR_END]);
  for (let at = 0; at < all.length; at += pieceBytes) {
    yield all.subarray(at, at + pieceBytes);
  }
}

async function clamped(seconds: readonly number[], pieceBytes: number): Promise<[Buffer, boolean]> {
  async function* source(): AsyncGenerator<Buffer> {
    yield* tarOf(seconds, pieceBytes);
  }
  const clamp = new ClampedTimes(100, 'layer');
  const pieces: Buffer[] = [];
  for await (const piece of clamp.write(source())) {
    pieces.push(piece);
  }
  return [Buffer.concat(pieces), clamp.isChanged];
}

test.each([1, 700, 1 << 20])(
  'later times become the moment, in pieces of %i bytes; all else stays',
  async (bytes) => {
    const [tar, isChanged] = await clamped([5, 100, 101], bytes);
    expect(isChanged).toBe(true);
    const before = untar(Buffer.concat([...tarOf([5, 100, 100], bytes)]));
    expect(untar(tar)).toEqual(before);
  },
);

test('a tar of which nothing is later says so, and is the same', async () => {
  const [tar, isChanged] = await clamped([5, 100], 512);
  expect(isChanged).toBe(false);
  expect(tar.equals(Buffer.concat([...tarOf([5, 100], 512)]))).toBe(true);
  await expect(clamped([], 512)).resolves.toEqual([TAR_END, false]);
});
