import type { CachePruning, UsageEntry } from '../../../api/types/build/ports.ts';
import type { Clock } from '../../base/clock.ts';
import type { ClassicSteps } from '../ports.ts';
import type { Contexts } from '../session/contexts.ts';
import type { Checkouts } from './checkouts.ts';
import { recordTest } from './filters.ts';
import type { CacheKeeper } from './keeper.ts';
import { nowMs } from './records.ts';

export interface AllKeptDeps {
  keeper: CacheKeeper;
  classic: ClassicSteps;
  contexts: Contexts;
  checkouts: Checkouts;
  clock: Clock;
}

/**
 * What builds of all clients keep: results, directories of cache mounts, steps of the classic builder, contexts,
 * checkouts.
 */
export class AllKept {
  readonly #deps: AllKeptDeps;

  constructor(deps: AllKeptDeps) {
    this.#deps = deps;
  }

  usage(filters: readonly string[] = []): UsageEntry[] {
    const { keeper, classic } = this.#deps;
    const test = recordTest(filters);
    return [...keeper.usage(filters), ...classic.usage().filter((record) => test(record))];
  }

  /** Steps of the classic builder go too, where no size is given: they have none of their own. */
  async prune(pruning: CachePruning): Promise<UsageEntry[]> {
    const { keeper, classic, contexts, checkouts, clock } = this.#deps;
    const pruned: UsageEntry[] = await keeper.prune(pruning);
    const { filters, unusedMs, reservedBytes, usedBytesMax, freeBytesMin } = pruning;
    if (reservedBytes > 0 || usedBytesMax > 0 || freeBytesMin > 0) {
      return pruned;
    }
    const now = nowMs(clock);
    const test = recordTest(filters);
    const steps = classic.usage().filter((record) => test(record) && now - record.createdMs >= unusedMs);
    if (steps.length > 0) {
      pruned.push(...(await classic.prune(new Map([['id', steps.map(({ id }) => id)]]))));
    }
    const idle = [
      { ...idleOf('contexts', 'source.local', 'local sources'), prune: () => contexts.prune() },
      {
        ...idleOf('checkouts', 'source.git.checkout', 'git checkouts'),
        prune: () => Promise.resolve(checkouts.prune()),
      },
    ];
    for (const { prune, ...facts } of unusedMs === 0 ? idle : []) {
      const entry: UsageEntry = { ...facts, createdMs: now };
      const bytes = test(entry) ? await prune() : 0;
      pruned.push(...(bytes === 0 ? [] : [{ ...entry, bytes }]));
    }
    return pruned;
  }
}

/** What is kept without records, as one of them. */
function idleOf(id: string, type: string, description: string): Omit<UsageEntry, 'createdMs'> {
  const flags = { inUse: false, isShared: false, isMutable: true };
  return { id, type, parents: [], bytes: 0, usageCount: 1, description, ...flags };
}
