/** The properties that are not undefined: an optional parameter that was not given is absent, not undefined. */
export function defined<T extends object>(object: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  // Object.fromEntries forgets the keys' types; exactly the undefined ones were dropped.
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

/** UNIX nanoseconds now, to the millisecond: the base of durations as `since=10m`. */
export function wallNano(): bigint {
  return BigInt(Date.now()) * 1_000_000n;
}
