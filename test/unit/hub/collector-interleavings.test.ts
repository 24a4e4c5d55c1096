import { expect, test } from 'vitest';
import { Readable } from 'node:stream';
import { limits } from '../../../daemon/base/limits.ts';
import { isEngineError } from '../../../daemon/base/errors.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { LocalRecords } from '../../../daemon/hub/records/local-records.ts';
import { Mirror } from '../../../daemon/hub/records/mirror.ts';
import { Registry } from '../../../daemon/hub/registry/registry.ts';
import { Repositories } from '../../../daemon/hub/repositories/repositories.ts';
import type { Repository } from '../../../daemon/hub/repositories/repository.ts';
import { openDatabase } from '../../../storage/database/index.ts';
import { ManualClock } from '../../support/fakes/manual-clock.ts';
import { Interleaving, slowRecords, SlowFiles } from '../../support/hub/interleaving.ts';
import { ALICE } from '../../support/hub/occurrences.ts';
import { digestOf, imageManifest } from '../../support/hub/registry-client.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

/** Each run of a seed: pushes, deletions and the collector at a time, over two repositories that share layers. */
const SEEDS = Number(process.env['BERTH_TEST_SEEDS'] ?? 60);
const HOUR_MS = 3_600_000;

/** A registry whose every step waits for its turn. */
async function world(seed: number) {
  const random = new SeededRandom(seed);
  const turns = new Interleaving(random);
  const clock = new ManualClock();
  const database = openDatabase(':memory:', silentLogger);
  const records = slowRecords(new LocalRecords(database), turns);
  const mirror = await Mirror.open({ records, clock, log: silentLogger }, '');
  const outbox = { intents: () => [] };
  const owner = { kind: 'user', id: 1, name: 'alice' } as never;
  const repositories = new Repositories({
    mirror,
    clock,
    owner: () => owner,
    ownerUnchanged: () => ({ kind: 'check', key: 'account/alice', expected: 0 }),
    removals: () => [],
    outbox,
  });
  const files = new SlowFiles(turns);
  const given = {
    mirror,
    clock,
    log: silentLogger,
    repositories,
    outbox,
    files,
    layers: undefined,
    artifacts: { check: () => Promise.resolve(undefined), removals: () => [] },
    quotaBytes: 0,
  };
  const registry = new Registry(given);
  const made: Repository[] = [];
  const make = async (name: string) => void made.push(await repositories.create('alice', { name }, ALICE));
  await turns.run([make('one')]);
  await turns.run([make('other')]);
  return {
    random,
    turns,
    clock,
    registry,
    repositories,
    files,
    made,
    [Symbol.dispose]: () => {
      mirror[Symbol.dispose]();
      database.close();
    },
  };
}

type World = Awaited<ReturnType<typeof world>>;

function pick<T>(random: SeededRandom, from: readonly T[]): T {
  const found = from[random.below(from.length)];
  if (found === undefined) {
    throw new Error('nothing to pick from');
  }
  return found;
}

/** As clients push: what the repository has is not sent again, what another has is mounted. */
async function push({ random, registry, made }: World, name: string): Promise<void> {
  const repository = pick(random, made);
  const layers = ['a', 'b', 'c'].filter(() => random.below(2) === 0);
  const config = pick(random, ['{"x":1}', '{"x":2}']);
  for (const content of [...layers, config]) {
    await give({ random, registry, made }, repository, content);
  }
  const bytes = Buffer.from(JSON.stringify(imageManifest(config, layers)));
  await registry.manifests.put(
    { repository, actor: ALICE },
    { kind: 'tag', tag: name },
    { mediaType: undefined, bytes },
  );
}

async function give(
  { random, registry, made }: Pick<World, 'random' | 'registry' | 'made'>,
  repository: Repository,
  content: string,
): Promise<void> {
  const { blobs, uploads } = registry;
  const digest = digestOf(content);
  if (random.below(4) > 0 && (await isThere(registry, repository, digest))) {
    return;
  }
  if (random.below(2) === 0 && (await blobs.mount(repository, digest, pick(random, made)))) {
    return;
  }
  const { id } = await uploads.start(repository);
  const body = { bytes: Readable.from([Buffer.from(content)]), length: undefined, range: undefined };
  await uploads.finish(repository, id, digest, body);
}

async function isThere({ blobs }: Registry, repository: Repository, digest: string): Promise<boolean> {
  try {
    await blobs.size(repository, digest);
    await blobs.keep(repository, digest);
    return true;
  } catch (error) {
    if (isEngineError(error, 'not_found')) {
      return false;
    }
    throw error;
  }
}

/** Deletes some image that there is. */
async function remove({ random, registry, made }: World): Promise<void> {
  const repository = pick(random, made);
  const tags = registry.manifests.tags(repository);
  if (tags.length === 0) {
    return;
  }
  try {
    const { digest } = registry.manifests.find(repository, { kind: 'tag', tag: pick(random, tags) });
    await registry.manifests.delete({ repository, actor: ALICE }, { kind: 'digest', digest });
  } catch (error) {
    // Somebody else was faster.
    if (!isEngineError(error, 'not_found')) {
      throw error;
    }
  }
}

/** Begins an upload, and never comes back. */
async function giveUp({ random, registry, made }: World): Promise<void> {
  await registry.uploads.start(pick(random, made));
}

async function repeat(count: number, work: (at: number) => Promise<void>): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    await work(at);
  }
}

/** What images name, with themselves. */
function wanted({ registry, repositories }: World): string[] {
  const named = repositories.all().flatMap((repository) =>
    registry.manifests.tags(repository).flatMap((tag) => {
      const { digest, config, layers } = registry.manifests.find(repository, { kind: 'tag', tag });
      return [digest, ...[config, ...layers].flatMap((one) => (one === null ? [] : [one.digest]))];
    }),
  );
  return [...new Set(named)].toSorted();
}

test.each(Array.from({ length: SEEDS }, (_, seed) => seed + 1))(
  'collector and pushes, seed %i: nothing is taken that is pushed, and leftovers go at last',
  async (seed) => {
    using all = await world(seed);
    const { random, turns, clock, registry, repositories, files, made } = all;
    await turns.run([push(all, 'old'), repeat(2, () => remove(all))]);
    clock.setWall(random.below(30) * HOUR_MS);
    await turns.run([
      repeat(2, (at) => push(all, `a${at}`)),
      repeat(2, (at) => push(all, `b${at}`)),
      repeat(2, (at) => push(all, `c${at}`)),
      repeat(4, () => remove(all)),
      repeat(5, () => registry.collector.collect()),
      giveUp(all),
    ]);
    expect(wanted(all).filter((digest) => !files.blobs.has(digest))).toEqual([]);
    const [first] = made;
    if (first !== undefined && random.below(2) === 0) {
      await turns.run([repositories.remove(first, ALICE).then(() => undefined)]);
    }
    clock.setWall(Math.max(limits.hubBlobGraceMs, limits.hubUploadIdleMs) + HOUR_MS);
    await turns.run([registry.collector.collect()]);
    expect([[...files.blobs.keys()].toSorted(), files.pending.size]).toEqual([wanted(all), 0]);
  },
);

/** The same layers under a name of its own. */
function tagged(tag: string) {
  const manifest = { ...imageManifest('{}', ['a']), annotations: { tag } };
  return {
    reference: { kind: 'tag' as const, tag },
    body: { mediaType: undefined, bytes: Buffer.from(JSON.stringify(manifest)) },
  };
}

test('a blob that a push was told of stays, when another push names it and its manifest is deleted', async () => {
  using all = await world(1);
  const { turns, registry, made } = all;
  const [repository] = made;
  if (repository === undefined) {
    throw new Error('no repository');
  }
  const by = { repository, actor: ALICE };
  const upload = async (content: string): Promise<void> => {
    const { id } = await registry.uploads.start(repository);
    const body = { bytes: Readable.from([Buffer.from(content)]), length: undefined, range: undefined };
    await registry.uploads.finish(repository, id, digestOf(content), body);
  };
  const [slow, fast] = [tagged('slow'), tagged('fast')];
  await turns.run([upload('{}'), upload('a')]);
  // The slow one asks first, and has to send nothing.
  await turns.run(['{}', 'a'].map((content) => registry.blobs.keep(repository, digestOf(content))));
  await turns.run([registry.manifests.put(by, fast.reference, fast.body).then(() => undefined)]);
  const { digest } = registry.manifests.find(repository, fast.reference);
  await turns.run([registry.manifests.delete(by, { kind: 'digest', digest })]);
  await turns.run([registry.collector.collect()]);
  await turns.run([registry.manifests.put(by, slow.reference, slow.body).then(() => undefined)]);
  const after = registry.manifests.find(repository, slow.reference).digest;
  await turns.run([registry.manifests.delete(by, { kind: 'digest', digest: after })]);
  await turns.run([registry.collector.collect()]);
  // Nobody waits any more.
  expect([...all.files.blobs.keys()]).toEqual([]);
});
