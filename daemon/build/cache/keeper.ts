import type { CachePruning } from '../../../api/types/build/ports.ts';
import type { BuildRecordRow, BuildRecordTable } from '../../../storage/database/rows.ts';
import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { BuildLayers, UsageRecord } from '../ports.ts';
import { CACHE_MOUNT, type CacheMounts } from './cache-mounts.ts';
import {
  boundsOf,
  toCollect,
  type CollectRule,
  type DiskNumbers,
  type KeptRecord,
  type RecordType,
} from './collect.ts';
import { recordTest } from './filters.ts';
import { nowMs, OF_IMAGE } from './records.ts';

export interface KeeperDeps {
  table: BuildRecordTable;
  layers: BuildLayers;
  caches: CacheMounts;
  clock: Clock;
  log: Logger;
  disk(): DiskNumbers;
  /** Undefined: nothing is collected by itself. */
  rules(disk: DiskNumbers): CollectRule[] | undefined;
}

/** What builds keep: how much it is, and what of it goes, when somebody asks or the disk is wanted. */
export class CacheKeeper implements AsyncDisposable {
  readonly #deps: KeeperDeps;
  #collectedMs = Number.NEGATIVE_INFINITY;
  #timer: Disposable | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(deps: KeeperDeps) {
    this.#deps = deps;
  }

  usage(filters: readonly string[] = []): UsageRecord[] {
    const test = recordTest(filters);
    return this.#records().filter((record) => test(record));
  }

  /** Answers what has gone. */
  async prune(pruning: CachePruning): Promise<UsageRecord[]> {
    const { filters, isAll, unusedMs } = pruning;
    return await this.#remove([{ ...boundsOf(pruning), filters, takesInternal: isAll, unusedMs }]);
  }

  /**
   * Looks through them soon, by the policy of the daemon: a second after a build, and once a minute for however many
   * builds.
   */
  collectSoon(): void {
    const { clock } = this.#deps;
    if (this.#timer !== undefined) {
      return;
    }
    const sinceMs = clock.monotonicMs() - this.#collectedMs;
    const delayMs = Math.max(limits.buildCollectDelayMs, limits.buildCollectMs - sinceMs);
    this.#timer = clock.setTimeout(() => {
      this.#timer = undefined;
      this.#running = this.#collect();
    }, delayMs);
  }

  /** Ends what is to come, and waits for what is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    await this.#running;
  }

  /** Never throws. */
  async #collect(): Promise<void> {
    const { clock, log } = this.#deps;
    this.#collectedMs = clock.monotonicMs();
    try {
      const policy = this.#deps.rules(this.#deps.disk());
      const removed = policy === undefined ? [] : await this.#remove(policy);
      if (removed.length > 0) {
        log.info({ records: removed.length }, 'removed results of builds that were not used');
      }
    } catch (error) {
      log.error({ reason: errorText(error) }, 'results of builds could not be removed');
    }
  }

  /** What others stand on goes after them. */
  async #remove(rules: readonly CollectRule[]): Promise<UsageRecord[]> {
    const { table, caches, layers, clock } = this.#deps;
    const removed: UsageRecord[] = [];
    const tests = new Map(rules.map((rule) => [rule, recordTest(rule.filters ?? [])]));
    for (;;) {
      const records = new Map(this.#records().map((record) => [record.id, record]));
      const stoodOn = new Set([...records.values()].flatMap(({ parents }) => parents));
      const kept = [...records.values()].map((record) => keptOf(record, stoodOn.has(record.id)));
      const matches = (rule: CollectRule, id: string): boolean => {
        const record = records.get(id);
        return record !== undefined && tests.get(rule)?.(record) === true;
      };
      const ids = toCollect(kept, rules, { now: nowMs(clock), disk: this.#deps.disk(), matches });
      if (ids.length === 0) {
        break;
      }
      for (const id of ids) {
        const record = records.get(id);
        failpoint('build.cache.remove');
        table.remove(id);
        if (record?.type === CACHE_MOUNT) {
          await caches.remove(id);
        }
        removed.push(...(record === undefined ? [] : [record]));
      }
    }
    await layers.collect();
    return removed;
  }

  #records(): UsageRecord[] {
    const { table, caches, layers } = this.#deps;
    const rows = table.all().filter(({ type }) => type !== OF_IMAGE);
    const byLayer = new Map<number, string[]>();
    for (const { id, layerId } of rows) {
      if (layerId !== null) {
        byLayer.set(layerId, [...(byLayer.get(layerId) ?? []), id]);
      }
    }
    const below = new Map(rows.map((row) => [row.id, this.#below(row)]));
    return rows.map((row) => {
      const { layerId } = row;
      const isMount = row.type === CACHE_MOUNT;
      return {
        id: row.id,
        type: row.type,
        parents: (below.get(row.id) ?? []).flatMap((layer) => byLayer.get(layer) ?? []),
        bytes: row.sizeBytes,
        createdMs: row.createdMs,
        lastUsedMs: row.lastUsedMs,
        usageCount: row.usageCount,
        description: row.description,
        inUse: isMount ? caches.isInUse(row.id) : layerId !== null && layers.isPinned(layerId),
        isShared: layerId !== null && layers.users(layerId) > 0,
        isMutable: isMount,
      };
    });
  }

  /** The next layer below that a record has. */
  #below({ layerId }: BuildRecordRow): number[] {
    const chain = layerId === null ? [] : (this.#deps.layers.chainOf(layerId) ?? []);
    return chain.slice(0, -1);
  }
}

function keptOf(record: UsageRecord, isStoodOn: boolean): KeptRecord {
  const { id, type, bytes, inUse, isShared, lastUsedMs = 0 } = record;
  // The table holds what this program has written.
  return { id, type: type as RecordType, bytes, isInUse: inUse || isStoodOn, isShared, lastUsedMs };
}
