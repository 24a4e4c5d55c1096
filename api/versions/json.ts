/** Reaching into JSON of unknown shape. What is not as expected is left alone: the schema judges it. */
export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object at `path` below `value`, or undefined where one of the steps is no object. */
export function objectAt(value: unknown, ...path: string[]): JsonObject | undefined {
  let here: unknown = value;
  for (const key of path) {
    here = isObject(here) && Object.hasOwn(here, key) ? here[key] : undefined;
  }
  return isObject(here) ? here : undefined;
}

/** The objects in the array at `path`; empty where there is none. */
export function objectsAt(value: unknown, ...path: string[]): JsonObject[] {
  const key = path.at(-1);
  const parent = objectAt(value, ...path.slice(0, -1));
  const list = key === undefined || parent === undefined ? value : parent[key];
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** A copy of `value` with the object at `path` replaced by `edit` of it. Unchanged where there is no object. */
export function editAt(
  value: unknown,
  path: readonly string[],
  edit: (object: JsonObject) => JsonObject,
): unknown {
  if (!isObject(value)) {
    return value;
  }
  const [key, ...rest] = path;
  if (key === undefined) {
    return edit(value);
  }
  return Object.hasOwn(value, key) ? { ...value, [key]: editAt(value[key], rest, edit) } : value;
}

/** A copy of an array with every object in it edited. */
export function editEach(value: unknown, edit: (object: JsonObject) => JsonObject): unknown {
  return Array.isArray(value) ? value.map((item: unknown) => (isObject(item) ? edit(item) : item)) : value;
}

/** A copy of a map (network name -> endpoint, ...) with every object in it edited. */
export function editValues(value: unknown, edit: (object: JsonObject) => JsonObject): unknown {
  if (!isObject(value)) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, isObject(item) ? edit(item) : item]),
  );
}

export function without(object: JsonObject, ...keys: string[]): JsonObject {
  const copy = { ...object };
  for (const key of keys) {
    delete copy[key];
  }
  return copy;
}

/** Exactly the keys of `zero`, each from `object` or, where that has none or null, from `zero`. */
export function shaped(object: JsonObject, zero: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(zero).map(([key, value]) => [key, object[key] ?? value]));
}

/** The value of a `filters` parameter with one more key. What is no JSON is handed on, for the error that names it. */
export function withFilter(filters: string | null, key: string, value: string): string {
  try {
    const known: unknown = JSON.parse(filters || '{}');
    return JSON.stringify({ ...(isObject(known) ? known : {}), [key]: [value] });
  } catch {
    return filters ?? '';
  }
}

/** The answer of POST /containers/create without those warnings that begin so. */
export function withoutWarnings(answer: unknown, beginning: string): unknown {
  return editAt(answer, [], (created) => {
    const warnings = created['Warnings'];
    return Array.isArray(warnings)
      ? {
          ...created,
          Warnings: warnings.filter((text) => typeof text !== 'string' || !text.startsWith(beginning)),
        }
      : created;
  });
}
