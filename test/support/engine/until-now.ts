/**
 * `until` of a question for all events so far, in seconds. Events are told by the nanosecond and `Date.now()` is cut
 * to the millisecond: an event of the last one would be later than it, so that the next one is asked for.
 */
export function untilNow(): string {
  return ((Date.now() + 1) / 1000).toFixed(3);
}
