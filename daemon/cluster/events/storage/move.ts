import { EngineError, isEngineError } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Records } from '../../../hub/records/port.ts';
import { LocalRows, type EventDatabase } from './local-rows.ts';
import { keptOf, revisionOf, type Kept } from './shared-values.ts';

interface Deps {
  /** Of this host. */
  database: EventDatabase;
  /** Of the swarm. */
  shared: Pick<Records, 'list' | 'update'>;
  log: Logger;
}

/**
 * Brings the events of this host into its swarm, beside those that are there: an event is named by what it is, so
 * nothing is another's. Each goes from the host once the swarm has it. May be ended anywhere, also by a kill, and be
 * called again. Answers how many there were. Throws what the records throw, but for an event that is too large for
 * them, which stays.
 */
export async function bringEvents({ database, shared, log }: Deps): Promise<number> {
  const rows = new LocalRows(database);
  let count = 0;
  for (let after = ''; ;) {
    const page = database.clusterEvents.after(after, limits.clusterSharedChangesMax);
    const last = page.at(-1);
    if (last === undefined) {
      return count;
    }
    const gone = await brought(shared, page);
    failpoint('cluster.events.brought');
    rows.remove(gone);
    count += gone.length;
    if (gone.length < page.length) {
      log.warn(
        { events: page.length - gone.length },
        'the swarm does not take these events: they stay on this host',
      );
    }
    after = last.key;
  }
}

/** Takes the events out of a swarm that ends with this manager, beside what the host has. As above. */
export async function takeEvents({ database, shared }: Omit<Deps, 'log'>): Promise<number> {
  const rows = new LocalRows(database);
  let count = 0;
  let revision: number | undefined;
  for (let after = ''; ;) {
    const page = await shared.list('', { after });
    // A version that a client has of the swarm is never one of what comes after it here.
    revision ??= revisionOf(page.revision + 1, 0);
    const last = page.records.at(-1);
    if (last === undefined) {
      rows.atLeast(revision);
      return count;
    }
    rows.add(page.records.map(({ key, value }) => ({ key, body: keptOf(value).body })));
    failpoint('cluster.events.taken');
    count += page.records.length;
    after = last.key;
  }
}

type Row = ReturnType<EventDatabase['clusterEvents']['after']>[number];

/** Keys of those that the swarm has now. */
async function brought(shared: Deps['shared'], rows: readonly Row[]): Promise<string[]> {
  try {
    await shared.update(
      rows.map(({ key, body }, n) => ({ kind: 'put', key, value: { n, body } satisfies Kept, expected: 0 })),
    );
    return rows.map(({ key }) => key);
  } catch (error) {
    const isOfOne = isEngineError(error, 'conflict') || isTooLarge(error);
    if (!isOfOne) {
      throw error;
    }
    if (rows.length === 1) {
      // There already: it was brought before a kill, or another manager has told the same.
      return isTooLarge(error) ? [] : rows.map(({ key }) => key);
    }
  }
  const each: string[] = [];
  for (const row of rows) {
    each.push(...(await brought(shared, [row])));
  }
  return each;
}

function isTooLarge(error: unknown): error is EngineError {
  return isEngineError(error, 'resource_exhausted');
}
