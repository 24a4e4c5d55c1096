type Fields = Readonly<Record<string, unknown>>;

/**
 * RFC 7396, JSON merge patch, of an object with an object: null takes a field away, an object goes into the one that is
 * there, all else takes its place. Pure.
 */
export function mergeFields(target: Fields, patch: Fields): Fields {
  const merged = new Map(Object.entries(target));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) {
      merged.delete(name);
    } else {
      const known = merged.get(name);
      merged.set(name, isFields(value) ? mergeFields(isFields(known) ? known : {}, value) : value);
    }
  }
  return Object.fromEntries(merged);
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
