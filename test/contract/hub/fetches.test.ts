import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KeyedMutex } from '../../../daemon/base/concurrency/mutex.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { Fetches } from '../../../daemon/hub/registry/peers/fetches.ts';
import { HubBlobFiles } from '../../../storage/hub-blobs/blob-files.ts';

/** Blobs of another host, over real files. */

const BYTES = Buffer.alloc(900_000, 'blob');
const WANTED = { digest: digestOf(BYTES), size: BYTES.length };

function digestOf(bytes: Buffer | undefined): string {
  return `sha256:${createHash('sha256')
    .update(bytes ?? '')
    .digest('hex')}`;
}

let folder: string;
let files: HubBlobFiles;
let fetches: Fetches;
/** What the peers send, and how often they were asked for it. */
let sent: () => AsyncGenerator<Buffer>;
let asked = 0;
let judged: boolean[] = [];

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'bth-fetches-'));
  files = await HubBlobFiles.open(folder);
  asked = 0;
  judged = [];
  const peers = {
    has: () => Promise.resolve(true),
    read: () => {
      asked += 1;
      return sent();
    },
    judge: (_digest: string, isRight: boolean) => void judged.push(isRight),
  };
  fetches = new Fetches({ files, locks: new KeyedMutex(), log: silentLogger, peers });
});
afterEach(() => {
  fetches[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true });
});

const temporary = (): string[] => readdirSync(path.join(folder, 'tmp'));

async function all(start = 0, end = WANTED.size - 1): Promise<string> {
  await using blob = await fetches.open(WANTED);
  if (blob === undefined) {
    throw new Error('nobody holds it');
  }
  return digestOf(await buffer(blob.stream(start, end)));
}

test('readers at one time share one way, read while it comes, and it stays', async () => {
  let open!: () => void;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  sent = async function* () {
    yield BYTES.subarray(0, 400_000);
    await gate;
    yield BYTES.subarray(400_000);
  };
  expect(await fetches.size(WANTED)).toBe(WANTED.size);
  const whole = [all(), all()];
  expect(await all(0, 399_999)).toBe(digestOf(BYTES.subarray(0, 400_000)));
  expect(await files.size(WANTED.digest)).toBe(undefined);
  open();
  expect(await Promise.all(whole)).toEqual([WANTED.digest, WANTED.digest]);
  expect([asked, temporary(), digestOf(await files.read(WANTED.digest))]).toEqual([1, [], WANTED.digest]);
  expect(await all(5, 9)).toBe(digestOf(BYTES.subarray(5, 10)));
  expect(asked).toBe(1);
});

test('of other bytes nobody gets the last one, nothing stays, and the next reader tries anew', async () => {
  sent = async function* () {
    yield await Promise.resolve(Buffer.alloc(WANTED.size, 'other'));
  };
  await expect(all()).rejects.toThrow('what came has the digest');
  expect(await fetches.read(WANTED)).toBe(undefined);
  expect([temporary(), await files.digests()]).toEqual([[], []]);
  sent = async function* () {
    yield await Promise.resolve(BYTES);
  };
  expect(digestOf(await fetches.read(WANTED))).toBe(WANTED.digest);
  expect(judged).toEqual([false, false, true]);
});

test('a way that breaks off leaves nothing', async () => {
  sent = async function* () {
    yield await Promise.resolve(BYTES.subarray(0, 10));
    throw new Error('all managers are gone');
  };
  await expect(all()).rejects.toThrow('all managers are gone');
  expect([temporary(), await files.digests()]).toEqual([[], []]);
});
