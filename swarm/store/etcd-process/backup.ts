import { createHash } from 'node:crypto';
import { cp, mkdir, open, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { EngineError } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { toStoreError } from '../etcd/channel.ts';
import type { EtcdChannel } from '../etcd/channel.ts';
import { calls } from '../etcd/messages.ts';

/** etcd ends its snapshot with the SHA-256 of all before. */
const DIGEST_BYTES = 32;
/** A snapshot that etcd itself makes meanwhile, once in thousands of entries, makes the copy useless. */
const ATTEMPTS = 5;
const COPY_BYTES = 1024 * 1024;

/**
 * Copies a running member into `target`, which must not exist. The order makes it what a crash would have left: etcd's
 * own snapshots, then the database (by etcd, at one moment), then the log, which reaches past both. So nothing but etcd
 * is needed to restore it: a member that is started on it with `forceNewCluster` is the only one. Its revisions are
 * those of the copy, so the cluster's epoch is to be raised then.
 */
export async function saveMember(channel: EtcdChannel, dataDirectory: string, target: string): Promise<void> {
  await mkdir(target, { mode: 0o700 });
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const from = path.join(dataDirectory, 'member');
    const to = path.join(target, 'member');
    await rm(to, { recursive: true, force: true });
    const before = await snapshots(from);
    for (const directory of ['snap', 'wal']) {
      await mkdir(path.join(to, directory), { recursive: true, mode: 0o700 });
    }
    for (const name of before) {
      await cp(path.join(from, 'snap', name), path.join(to, 'snap', name));
    }
    await saveDatabase(channel, path.join(to, 'snap/db'));
    for (const name of await readdir(path.join(from, 'wal'))) {
      if (name.endsWith('.wal')) {
        await copyUsed(path.join(from, 'wal', name), path.join(to, 'wal', name));
      }
    }
    if ((await snapshots(from)).join('/') === before.join('/')) {
      return;
    }
  }
  throw new EngineError('unavailable', `back up ${dataDirectory}: it changes faster than it can be copied`);
}

async function snapshots(member: string): Promise<string[]> {
  const names = await readdir(path.join(member, 'snap'));
  return names.filter((name) => name.endsWith('.snap')).toSorted();
}

async function saveDatabase(channel: EtcdChannel, target: string): Promise<void> {
  const file = await open(target, 'wx', 0o600);
  try {
    const digest = createHash('sha256');
    // The last bytes are held back: they are the digest.
    let held: Buffer = Buffer.alloc(0);
    for await (const blob of blobs(channel)) {
      const known = Buffer.concat([held, blob]);
      const content = known.subarray(0, Math.max(known.length - DIGEST_BYTES, 0));
      held = known.subarray(content.length);
      digest.update(content);
      await file.write(content);
    }
    if (!digest.digest().equals(held)) {
      throw new EngineError('internal', `back up to ${target}: the database's digest does not fit`);
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

async function* blobs(channel: EtcdChannel): AsyncGenerator<Buffer> {
  try {
    for await (const { blob } of channel.listen(calls.snapshot, {}, limits.swarmStoreBackupMs)) {
      yield blob;
    }
  } catch (error) {
    throw toStoreError(calls.snapshot, error);
  }
}

/** Without the zeros at the end: a log file is 64 MB long from its start. */
async function copyUsed(from: string, target: string): Promise<void> {
  const source = await open(from, 'r');
  const copy = await open(target, 'wx', 0o600);
  try {
    const piece = Buffer.alloc(COPY_BYTES);
    for (let at = 0; ;) {
      const { bytesRead } = await source.read(piece, 0, COPY_BYTES, at);
      if (bytesRead === 0) {
        break;
      }
      const used = usedLength(piece.subarray(0, bytesRead));
      await copy.write(piece, 0, used, at);
      at += bytesRead;
    }
    await copy.sync();
  } finally {
    await source.close();
    await copy.close();
  }
}

function usedLength(piece: Buffer): number {
  let length = piece.length;
  while (length > 0 && piece[length - 1] === 0) {
    length -= 1;
  }
  return length;
}
