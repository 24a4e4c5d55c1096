import type { CachePruning, UsageEntry } from '../../../api/types/build/ports.ts';
import type { Clock } from '../../base/clock.ts';
import type { ClassicSteps } from '../ports.ts';
import type { Contexts } from '../session/contexts.ts';
import { recordTest } from './filters.ts';
import type { CacheKeeper } from './keeper.ts';
import { nowMs } from './records.ts';

export interface AllKeptDeps {
  keeper: CacheKeeper;
  classic: ClassicSteps;
  contexts: Contexts;
  clock: Clock;
}

/** What builds of all clients keep: results, directories of cache mounts, steps of the classic builder, contexts. */
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
    const { keeper, classic, contexts, clock } = this.#deps;
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
    const sources: UsageEntry = {
      id: 'contexts',
      type: 'source.local',
      parents: [],
      bytes: 0,
      createdMs: now,
      usageCount: 1,
      description: 'local sources',
      inUse: false,
      isShared: false,
      isMutable: true,
    };
    const bytes = test(sources) && unusedMs === 0 ? await contexts.prune() : 0;
    return bytes === 0 ? pruned : [...pruned, { ...sources, bytes }];
  }
}
