import { randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { GrowingReader } from '../../../storage/spool/growing-reader.ts';

const BYTES = randomBytes(700_000);

/** A file of which nothing is there yet. */
function empty(): { reader: GrowingReader; write: (from: number, to: number) => void } {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-growing-'));
  const fd = openSync(path.join(folder, 'file'), 'w+');
  onTestFinished(() => {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  });
  const reader = new GrowingReader(fd, BYTES.length);
  return {
    reader,
    write: (from, to) => {
      writeSync(fd, BYTES, from, to - from, from);
      reader.grown(to);
    },
  };
}

test('readers get what they ask for as it comes, each from its own place', async () => {
  const { reader, write } = empty();
  const parts = [
    [0, BYTES.length - 1],
    [5, 10],
    [600_000, 699_999],
    [0, 0],
  ] as const;
  const reading = parts.map(([start, end]) => buffer(reader.stream(start, end)));
  for (const [from, to] of [
    [0, 3],
    [3, 300_000],
    [300_000, BYTES.length],
  ] as const) {
    await Promise.resolve();
    write(from, to);
  }
  expect(await Promise.all(reading)).toEqual(parts.map(([start, end]) => BYTES.subarray(start, end + 1)));
});

test('a file that fails fails for those who want more than there is', async () => {
  const { reader, write } = empty();
  write(0, 100);
  const all = buffer(reader.stream(0, BYTES.length - 1));
  reader.fail(new Error('no space left'));
  await expect(all).rejects.toThrow('no space left');
  expect(await buffer(reader.stream(0, 99))).toEqual(BYTES.subarray(0, 100));
});
