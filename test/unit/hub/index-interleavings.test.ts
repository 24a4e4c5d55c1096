import { expect, test } from 'vitest';
import { isEngineError } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { MEDIA_TYPES } from '../../../daemon/hub/registry/manifests/manifest.ts';
import type { Repository } from '../../../daemon/hub/repositories/repository.ts';
import { ALICE } from '../../support/hub/occurrences.ts';
import { descriptorOf, digestOf } from '../../support/hub/registry-client.ts';
import { registryWorld, type RegistryWorld } from '../../support/hub/registry/registry-world.ts';

/** Each run of a seed: indexes that share images are pushed and deleted at a time. */
const SEEDS = Number(process.env['BERTH_TEST_SEEDS'] ?? 60);

/** An image without blobs: these are the matter of collector-interleavings.test.ts. */
const image = (name: string): Buffer =>
  Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MEDIA_TYPES.ociIndex,
      manifests: [],
      annotations: { name },
    }),
  );

function indexOf(name: string, ...children: Buffer[]): Buffer {
  const manifests = children.map((child) => descriptorOf(MEDIA_TYPES.ociIndex, child));
  const whole = { schemaVersion: 2, mediaType: MEDIA_TYPES.ociIndex, manifests, annotations: { name } };
  return Buffer.from(JSON.stringify(whole));
}

const [A, B, C] = [image('a'), image('b'), image('c')];
const INNER = indexOf('inner', A, C);
const INDEXES = [indexOf('one', A, B), indexOf('two', B, C), indexOf('three', INNER, B)];
const HOUR_MS = limits.hubBlobToldMs;

function repositoryOf({ made }: RegistryWorld): Repository {
  const [repository] = made;
  if (repository === undefined) {
    throw new Error('no repository');
  }
  return repository;
}

async function put(world: RegistryWorld, bytes: Buffer, tag?: string): Promise<void> {
  const by = { repository: repositoryOf(world), actor: ALICE };
  const reference =
    tag === undefined
      ? ({ kind: 'digest', digest: digestOf(bytes) } as const)
      : ({ kind: 'tag', tag } as const);
  await world.registry.manifests.put(by, reference, { mediaType: undefined, bytes });
}

async function remove(world: RegistryWorld, bytes: Buffer): Promise<void> {
  const by = { repository: repositoryOf(world), actor: ALICE };
  await unlessGone(world.registry.manifests.delete(by, { kind: 'digest', digest: digestOf(bytes) }));
}

/** As a client does: what is there is not pushed again. What went meanwhile ends its push. */
async function pushIndex(world: RegistryWorld, index: Buffer): Promise<void> {
  for (const part of [A, B, C, INNER]) {
    if (world.registry.manifests.peek(repositoryOf(world), digestOf(part)) === undefined) {
      await unlessGone(put(world, part));
    }
  }
  await unlessGone(put(world, index));
}

async function unlessGone(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isEngineError(error, 'not_found')) {
      throw error;
    }
  }
}

function isThere({ registry, made }: RegistryWorld, digest: string): boolean {
  return made.some((repository) => registry.manifests.peek(repository, digest) !== undefined);
}

/** Children of indexes that are not there. */
function lost(world: RegistryWorld): string[] {
  return [...INDEXES, INNER].flatMap((bytes) => {
    const found = world.registry.manifests.peek(repositoryOf(world), digestOf(bytes));
    return (found?.children ?? []).map(({ digest }) => digest).filter((digest) => !isThere(world, digest));
  });
}

test.each(Array.from({ length: SEEDS }, (_, seed) => seed + 1))(
  'indexes that share images, seed %i: none loses a part, and nothing of those that went stays',
  async (seed) => {
    using world = await registryWorld(seed);
    const { random, turns, clock, registry, files } = world;
    const [one, two, three] = INDEXES;
    if (one === undefined || two === undefined || three === undefined) {
      throw new Error('no indexes');
    }
    await turns.run([pushIndex(world, one), pushIndex(world, two)]);
    clock.setWall(random.below(3) * HOUR_MS);
    await turns.run([
      remove(world, one),
      remove(world, two),
      pushIndex(world, three).then(() => remove(world, three)),
      pushIndex(world, one),
      ...(random.below(2) === 0 ? [put(world, C, 'c')] : []),
      registry.collector.collect(),
    ]);
    expect(lost(world)).toEqual([]);
    await turns.run([remove(world, one), remove(world, two), remove(world, three)]);
    expect(lost(world)).toEqual([]);
    clock.setWall(5 * HOUR_MS);
    await turns.run([registry.collector.collect()]);
    const tagged = registry.manifests.tags(repositoryOf(world)).length > 0 ? [digestOf(C)] : [];
    // What a push that was ended brought is nobody's but its own.
    const left = [...files.blobs.keys()].filter((digest) => !isThere(world, digest));
    expect([left, tagged.filter((digest) => !isThere(world, digest))]).toEqual([[], []]);
  },
);

test('an image of a deleted index that somebody has pushed since stays for an hour, and goes then', async () => {
  using world = await registryWorld(1);
  const { turns, clock, registry } = world;
  const [index, later] = [indexOf('index', A, B), indexOf('later', A)];
  await turns.run([put(world, A), put(world, B)]);
  await turns.run([put(world, index)]);
  clock.setWall(1_000);
  await turns.run([put(world, A)]);
  await turns.run([remove(world, index)]);
  const found = () => [index, later, A, B].map((bytes) => isThere(world, digestOf(bytes)));
  expect(found()).toEqual([false, false, true, false]);
  await turns.run([put(world, later)]);
  clock.setWall(2_000 + HOUR_MS);
  await turns.run([registry.collector.collect()]);
  expect(found()).toEqual([false, true, true, false]);
  await turns.run([put(world, A)]);
  await turns.run([remove(world, later)]);
  await turns.run([registry.collector.collect()]);
  expect(found()).toEqual([false, false, true, false]);
  clock.setWall(3_000 + 2 * HOUR_MS);
  await turns.run([registry.collector.collect()]);
  expect(found()).toEqual([false, false, false, false]);
});
