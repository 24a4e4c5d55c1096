/** Maps of a client's own words: their values mean something when they are empty, too. */
const MAPS = new Set(['Labels', 'Options', 'DriverOpts', 'Sysctls']);

/** Fields that say something with 0 or false: their absence means the default, or has no meaning at all. */
const ALWAYS_SAID = new Set([
  'Init',
  'StopGracePeriod',
  'Delay',
  'MaxAttempts',
  'Window',
  'Disable',
  'Value',
  'Soft',
  'Hard',
]);

/** Told whole. */
const WHOLE = new Set(['File']);

/**
 * What was sent without all that says nothing: null, empty texts, lists and maps, 0 and false. Clients write what they
 * have read, and each leaves out other things of these; tasks must not be replaced for that. Pure.
 */
export function pruned<T extends object>(sent: T): T {
  const kept = Object.entries(sent)
    .filter(([name, value]) => saysSomething(name, value))
    .map(([name, value]) => [name, prunedValue(name, value)]);
  // Only optional fields were left out.
  return Object.fromEntries(kept) as T;
}

function prunedValue(name: string, value: unknown): unknown {
  if (MAPS.has(name) || WHOLE.has(name) || typeof value !== 'object' || value === null) {
    return value;
  }
  return Array.isArray(value)
    ? value.map((item: unknown) => (typeof item === 'object' && item !== null ? pruned(item) : item))
    : pruned(value);
}

function saysSomething(name: string, value: unknown): boolean {
  if (value === null || value === undefined) {
    return false;
  }
  if (typeof value === 'object') {
    const isCollection = Array.isArray(value) || MAPS.has(name);
    return !isCollection || Object.keys(value).length > 0;
  }
  return ALWAYS_SAID.has(name) || (value !== '' && value !== 0 && value !== false);
}
