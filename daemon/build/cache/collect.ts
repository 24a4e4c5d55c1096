/** What the engine keeps of a build for the next one. */
export type RecordType =
  | 'internal'
  | 'frontend'
  | 'source.local'
  | 'source.git.checkout'
  | 'exec.cachemount'
  | 'regular';

/** A record as the collector looks at it. */
export interface KeptRecord {
  id: string;
  type: RecordType;
  bytes: number;
  /** A build holds it, or another record stands on it. */
  isInUse: boolean;
  /** An image has it, too: it goes only where all does. */
  isShared: boolean;
  lastUsedMs: number;
}

/** One rule; they are applied one after another to what the ones before have left. */
export interface CollectRule {
  /** Undefined: all but internal ones. */
  types?: readonly RecordType[];
  /** Only what they let through, each a list of conditions; which records that are `matches` says. */
  filters?: readonly string[];
  /** Internal ones as well, and what images have. */
  takesInternal: boolean;
  /** Only what was not used for so long. */
  unusedMs: number;
  /** So much is left alone, whatever it is. */
  reservedBytes: number;
  /** Above this something goes; undefined = no bound. */
  usedBytesMax?: number;
  /** Below this something goes, down to what is reserved. */
  freeBytesMin: number;
}

export interface DiskNumbers {
  totalBytes: number;
  freeBytes: number;
}

const HOUR_MS = 3_600_000;
const MIB = 1024 * 1024;

/**
 * The policy of dockerd 28, by default: sources and caches of mounts unused for two days once they are many;
 * once all is beyond 80 % of the disk, or leaves less than 20 % of it free, what was unused for 60 days, then whatever
 * was unused for longest, internal ones at last.
 */
export function defaultRules({ totalBytes }: DiskNumbers, said: Bounds = NOTHING_SAID): CollectRule[] {
  const isSaid = said.reservedBytes > 0 || said.usedBytesMax > 0 || said.freeBytesMin > 0;
  const { reservedBytes, ...cap } = boundsOf(
    isSaid
      ? said
      : {
          reservedBytes: Math.floor(totalBytes * 0.1),
          usedBytesMax: Math.floor(totalBytes * 0.8),
          freeBytesMin: Math.floor(totalBytes * 0.2),
        },
  );
  const all = { reservedBytes, ...cap };
  return [
    {
      types: ['source.local', 'exec.cachemount', 'source.git.checkout'],
      takesInternal: false,
      unusedMs: 48 * HOUR_MS,
      reservedBytes: 0,
      usedBytesMax: Math.max(512 * MIB, Math.floor(reservedBytes * 0.138)),
      freeBytesMin: 0,
    },
    { ...all, takesInternal: false, unusedMs: 60 * 24 * HOUR_MS },
    { ...all, takesInternal: false, unusedMs: 0 },
    { ...all, takesInternal: true, unusedMs: 0 },
  ];
}

/** As a client or an administrator says them; 0 = not said. */
interface Bounds {
  reservedBytes: number;
  usedBytesMax: number;
  freeBytesMin: number;
}

const NOTHING_SAID: Bounds = { reservedBytes: 0, usedBytesMax: 0, freeBytesMin: 0 };

/** What they mean for a rule. Who says only what is to be free bounds nothing else. Pure. */
export function boundsOf({
  reservedBytes,
  usedBytesMax,
  freeBytesMin,
}: Bounds): Pick<CollectRule, 'reservedBytes' | 'usedBytesMax' | 'freeBytesMin'> {
  return {
    reservedBytes,
    freeBytesMin,
    ...((usedBytesMax > 0 || freeBytesMin === 0) && { usedBytesMax }),
  };
}

/**
 * Ids of the records to remove, the longest unused first. A rule takes as few as bring what is kept below its bounds;
 * what a build holds is never taken, and counts.
 */
export function toCollect(
  records: readonly KeptRecord[],
  rules: readonly CollectRule[],
  {
    now,
    disk,
    matches = () => true,
  }: { now: number; disk: DiskNumbers; matches?: (rule: CollectRule, id: string) => boolean },
): string[] {
  const left = new Map(records.map((record) => [record.id, record]));
  const taken: string[] = [];
  let { freeBytes } = disk;
  for (const rule of rules) {
    const ofRule = [...left.values()].filter((record) => isOfRule(record, rule) && matches(rule, record.id));
    let used = sum(ofRule);
    const candidates = ofRule
      .filter(({ isInUse, lastUsedMs }) => !isInUse && now - lastUsedMs >= rule.unusedMs)
      .toSorted((a, b) => a.lastUsedMs - b.lastUsedMs || (a.id < b.id ? -1 : 1));
    for (const { id, bytes } of candidates) {
      const goal = goalOf(rule, used, freeBytes);
      // Where nothing may stay, what has no size of its own goes, too.
      if (goal > 0 && used <= goal) {
        break;
      }
      left.delete(id);
      taken.push(id);
      used -= bytes;
      freeBytes += bytes;
    }
  }
  return taken;
}

/** Bytes that may stay. */
function goalOf(
  { usedBytesMax, reservedBytes, freeBytesMin }: CollectRule,
  used: number,
  free: number,
): number {
  const ofBound = usedBytesMax ?? Number.POSITIVE_INFINITY;
  const ofFree = free < freeBytesMin ? used - (freeBytesMin - free) : Number.POSITIVE_INFINITY;
  return Math.max(reservedBytes, Math.min(ofBound, ofFree));
}

function isOfRule({ type, isShared }: KeptRecord, { types, takesInternal }: CollectRule): boolean {
  if (isShared && !takesInternal) {
    return false;
  }
  if (types !== undefined) {
    return types.includes(type);
  }
  return takesInternal || (type !== 'internal' && type !== 'frontend');
}

function sum(records: readonly KeptRecord[]): number {
  return records.reduce((total, { bytes }) => total + bytes, 0);
}
