import { silentLogger } from '../../../../daemon/base/logger.ts';
import { LocalRecords } from '../../../../daemon/hub/records/local-records.ts';
import { Mirror } from '../../../../daemon/hub/records/mirror.ts';
import { Registry } from '../../../../daemon/hub/registry/registry.ts';
import { Repositories } from '../../../../daemon/hub/repositories/repositories.ts';
import type { Repository } from '../../../../daemon/hub/repositories/repository.ts';
import { openDatabase } from '../../../../storage/database/index.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';
import { SeededRandom } from '../../seeded-random.ts';
import { Interleaving, slowRecords, SlowFiles } from '../interleaving.ts';
import { ALICE } from '../occurrences.ts';

/** A registry whose every step waits for its turn. */
export async function registryWorld(seed: number) {
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

export type RegistryWorld = Awaited<ReturnType<typeof registryWorld>>;

export function pick<T>(random: SeededRandom, from: readonly T[]): T {
  const found = from[random.below(from.length)];
  if (found === undefined) {
    throw new Error('nothing to pick from');
  }
  return found;
}
