/**
 * JSON columns. Values may hold bigint (times in nanoseconds), which JSON cannot: they are kept as `{"$bigint":"123"}`.
 * Objects come partly from users (labels), so a real key of that name gets one more `$` when it is stored and loses it
 * when it is read; nothing a client sends can turn into a bigint.
 */
const TAG = '$bigint';
const TAG_LIKE = /^\$+bigint$/;

/** The text of a JSON column. */
export function encodeJson(value: unknown): string {
  return JSON.stringify(value, escapeValue);
}

/** The value of a JSON column. Throws SyntaxError when the text is damaged. */
export function decodeJson(text: string): unknown {
  return text.includes('$bigint"') ? JSON.parse(text, reviveValue) : JSON.parse(text);
}

/** A column that holds a map of strings (labels, options, attributes). Throws SyntaxError for anything else. */
export function decodeStringMap(text: string): Record<string, string> {
  const value = decodeJson(text);
  if (!isPlainObject(value) || !Object.values(value).every((item) => typeof item === 'string')) {
    throw new SyntaxError('not a map of strings');
  }
  // Every value was just seen to be a string.
  return value as Record<string, string>;
}

// JSON.stringify hands over what it is about to write, not what this function returned: no object of ours comes back.
function escapeValue(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') {
    return { [TAG]: String(value) };
  }
  return isPlainObject(value) && Object.keys(value).some((key) => TAG_LIKE.test(key))
    ? renameTags(value, (key) => `$${key}`)
    : value;
}

function reviveValue(_key: string, value: unknown): unknown {
  if (!isPlainObject(value)) {
    return value;
  }
  const keys = Object.keys(value);
  if (keys.length === 1 && typeof value[TAG] === 'string') {
    return BigInt(value[TAG]);
  }
  return keys.some((key) => TAG_LIKE.test(key)) ? renameTags(value, (key) => key.slice(1)) : value;
}

function renameTags(value: Record<string, unknown>, rename: (key: string) => string): unknown {
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [TAG_LIKE.test(key) ? rename(key) : key, item]),
  );
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
