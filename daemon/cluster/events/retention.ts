import type { KnownEvent } from './event-text.ts';

export interface RetentionRules {
  /** Seconds that events of type Normal, and all others, are kept after they last changed. */
  normalTtlS: number;
  otherTtlS: number;
  /** Events that are kept at most. */
  max: number;
}

/** Those that are to go: what is too old, and of too many the oldest, Normal ones before all others. Pure. */
export function expiredEvents(
  events: Iterable<KnownEvent>,
  { normalTtlS, otherTtlS, max }: RetentionRules,
  nowMs: number,
): KnownEvent[] {
  const gone: KnownEvent[] = [];
  const kept: KnownEvent[] = [];
  for (const event of events) {
    const ttlS = isNormal(event) ? normalTtlS : otherTtlS;
    (event.facts.touchedMs + ttlS * 1_000 <= nowMs ? gone : kept).push(event);
  }
  const excess = kept.length - max;
  if (excess > 0) {
    kept.sort((a, b) => Number(isNormal(b)) - Number(isNormal(a)) || a.revision - b.revision);
    gone.push(...kept.slice(0, excess));
  }
  return gone;
}

function isNormal({ facts }: KnownEvent): boolean {
  return facts.type === 'Normal';
}
