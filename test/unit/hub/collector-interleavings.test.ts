import { expect, test } from 'vitest';
import { Readable } from 'node:stream';
import { limits } from '../../../daemon/base/limits.ts';
import { isEngineError } from '../../../daemon/base/errors.ts';
import type { Registry } from '../../../daemon/hub/registry/registry.ts';
import type { Repository } from '../../../daemon/hub/repositories/repository.ts';
import { ALICE } from '../../support/hub/occurrences.ts';
import { digestOf, imageManifest } from '../../support/hub/registry-client.ts';
import { pick, registryWorld, type RegistryWorld } from '../../support/hub/registry/registry-world.ts';

/** Each run of a seed: pushes, deletions and the collector at a time, over two repositories that share layers. */
const SEEDS = Number(process.env['BERTH_TEST_SEEDS'] ?? 60);
const HOUR_MS = 3_600_000;

/** As clients push: what the repository has is not sent again, what another has is mounted. */
async function push({ random, registry, made }: RegistryWorld, name: string): Promise<void> {
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
  { random, registry, made }: Pick<RegistryWorld, 'random' | 'registry' | 'made'>,
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
async function remove({ random, registry, made }: RegistryWorld): Promise<void> {
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
async function giveUp({ random, registry, made }: RegistryWorld): Promise<void> {
  await registry.uploads.start(pick(random, made));
}

async function repeat(count: number, work: (at: number) => Promise<void>): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    await work(at);
  }
}

/** What images name, with themselves. */
function wanted({ registry, repositories }: RegistryWorld): string[] {
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
    using all = await registryWorld(seed);
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
  using all = await registryWorld(1);
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
