import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withResolvers } from '../../../../daemon/base/concurrency/with-resolvers.ts';
import { CacheMounts, type CacheRequest } from '../../../../daemon/build/cache/cache-mounts.ts';
import { freshCaches } from '../../../../daemon/build/graph/fresh-caches.ts';
import type { ExecMount, Vertex } from '../../../../daemon/build/graph/op.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { openDatabase, type SqliteDatabase } from '../../../../storage/database/index.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { run } from '../solver/vertices.ts';

let directory: string;
let database: SqliteDatabase;
let caches: CacheMounts;
const { signal } = new AbortController();

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-caches-'));
  database = openDatabase(':memory:', silentLogger);
  caches = new CacheMounts({
    table: database.buildRecords,
    directory,
    archives: {
      remove: (path) => rm(path, { recursive: true, force: true }),
      sizes: (directories) => Promise.resolve(directories.map(() => 0)),
    },
    clock: new ManualClock(),
    log: silentLogger,
  });
});

afterEach(() => {
  database.close();
  rmSync(directory, { recursive: true, force: true });
});

function request(id: string, sharing: CacheRequest['sharing'] = 'shared'): CacheRequest {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  return { id, sharing, owner: { uid, gid }, mode: 0o755 };
}

/** Names in a cache after one more use, which leaves `name` in it. */
async function used(id: string, name: string): Promise<string[]> {
  await using cache = await caches.use(request(id), signal);
  writeFileSync(join(cache.path, name), '');
  return readdirSync(cache.path);
}

test('a cache that is renewed begins empty, and others stay', async () => {
  await used('/x', 'a');
  await used('/y', 'a');
  await caches.renew(['/x']);
  expect(await used('/x', 'b')).toEqual(['b']);
  expect(await used('/x', 'c')).toEqual(['b', 'c']);
  expect(await used('/y', 'b')).toEqual(['a', 'b']);
});

test('with one that is renewed go those that commands of one time had each for itself', async () => {
  {
    await using first = await caches.use(request('/x', 'private'), signal);
    await using second = await caches.use(request('/x', 'private'), signal);
    expect(second.path).not.toBe(first.path);
  }
  await caches.renew(['/x']);
  expect([readdirSync(directory), database.buildRecords.all()]).toEqual([[], []]);
});

test('who has a renewed cache keeps it to the end, and who waits for it gets the new one', async () => {
  const first = await caches.use(request('/x', 'locked'), signal);
  writeFileSync(join(first.path, 'a'), '');
  const waiting = caches.use(request('/x', 'locked'), signal);
  await caches.renew(['/x']);
  const other = await caches.use(request('/x'), signal);
  expect([other.path === first.path, existsSync(join(first.path, 'a'))]).toEqual([false, true]);
  await other[Symbol.asyncDispose]();
  await first[Symbol.asyncDispose]();
  await using second = await waiting;
  expect([second.path, readdirSync(directory).length]).toEqual([other.path, 1]);
  expect(database.buildRecords.all()).toHaveLength(1);
});

/** Uses a cache that is filled with a file once `until` resolves. */
const seeded = (until: Promise<void>): CacheRequest => ({
  ...request('/x'),
  seed: async (home) => {
    await until;
    writeFileSync(join(home, 'data', 'seed'), '');
  },
});

test('who comes while a cache is filled waits until it is full', async () => {
  const { promise, resolve } = withResolvers<void>();
  const first = caches.use(seeded(promise), signal);
  const second = caches.use(seeded(promise), signal);
  const stop = new AbortController();
  const third = caches.use(seeded(promise), stop.signal);
  stop.abort();
  await expect(third).rejects.toThrow('canceled');
  resolve();
  await using one = await first;
  await using other = await second;
  expect([other.path, readdirSync(other.path)]).toEqual([one.path, ['seed']]);
});

test('a cache that could not be filled is filled by who waits', async () => {
  const { promise, reject } = withResolvers<void>();
  const first = caches.use(seeded(promise), signal);
  const second = caches.use(seeded(Promise.resolve()), signal);
  promise.catch(() => undefined /* who fills it is told */);
  reject(new Error('the disk is full'));
  await expect(first).rejects.toThrow('the disk is full');
  await using other = await second;
  expect(readdirSync(other.path)).toEqual(['seed']);
  expect(database.buildRecords.all()).toHaveLength(1);
});

/** A command with caches of these ids. */
function command(word: string, base: Vertex | undefined, ids: readonly string[]): Vertex {
  const vertex = run(word, base);
  const mounts = ids.map((id): ExecMount => ({
    ...request(id),
    type: 'cache',
    source: '/',
    target: id,
    isWritable: true,
  }));
  return vertex.op.kind === 'exec' ? { ...vertex, op: { ...vertex.op, mounts } } : vertex;
}

test('caches of commands that are made anew are renewed, not those of what only stands on them', () => {
  const below = command('a', undefined, ['/x']);
  const fresh = { ...command('b', below, ['/y', '/z']), isFresh: true };
  const above = { ...command('c', fresh, ['/u']), inputs: [fresh, below] };
  expect(freshCaches([undefined, above])).toEqual(['/y', '/z']);
});
