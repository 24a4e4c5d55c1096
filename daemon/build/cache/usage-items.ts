import type { BuildCacheItem } from '../../../api/types/system.ts';
import { formatNano } from '../../base/clock.ts';
import type { UsageRecord } from '../ports.ts';

const NANOS_PER_MS = 1_000_000n;

/** Records as `GET /system/df` has them. Pure. */
export function usageItems(records: readonly UsageRecord[]): BuildCacheItem[] {
  return records.map((record) => ({
    ID: record.id,
    Parents: [...record.parents],
    Type: record.type,
    Description: record.description,
    InUse: record.inUse,
    Shared: record.isShared,
    Size: record.bytes,
    CreatedAt: timeOf(record.createdMs),
    LastUsedAt: record.lastUsedMs === undefined ? null : timeOf(record.lastUsedMs),
    UsageCount: record.usageCount,
  }));
}

function timeOf(ms: number): string {
  return formatNano(BigInt(Math.trunc(ms)) * NANOS_PER_MS);
}
