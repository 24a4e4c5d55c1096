import { errorText, invalidArgument, type EngineError } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';

/**
 * Reading image metadata that other programs wrote. Every helper takes `where`, the path of the value in its document
 * (`manifest.json[0].Layers`), and throws EngineError invalid_argument that names it.
 */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Parses JSON; refuses deep nesting (it exhausts stacks) and `__proto__` keys (they change what objects are). */
export function parseJson(bytes: Buffer, where: string): unknown {
  const text = bytes.toString('utf8');
  if (nestingOf(text) > limits.imageJsonDepthMax) {
    throw wrong(where, `nested deeper than ${limits.imageJsonDepthMax} levels`);
  }
  let forbidden = false;
  let value: unknown;
  try {
    value = JSON.parse(text, (key, item: unknown) => {
      forbidden ||= key === '__proto__';
      return item;
    });
  } catch (error) {
    throw wrong(where, `not valid JSON: ${errorText(error)}`);
  }
  if (forbidden) {
    throw wrong(where, 'holds a "__proto__" key');
  }
  return value;
}

export function wrong(where: string, problem: string): EngineError {
  return invalidArgument(`invalid image: ${where}: ${problem}`);
}

export function asObject(value: unknown, where: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrong(where, 'not an object');
  }
  // Checked above: anything else that is an object in JSON has string keys.
  return value as JsonObject;
}

export function asArray(value: unknown, where: string): readonly unknown[] {
  if (!Array.isArray(value)) {
    throw wrong(where, 'not an array');
  }
  return value;
}

export function asString(value: unknown, where: string): string {
  if (typeof value !== 'string') {
    throw wrong(where, 'not a string');
  }
  return value;
}

/** A missing or null value is undefined; Go programs write both. */
export function optional<T>(
  value: unknown,
  where: string,
  read: (value: unknown, where: string) => T,
): T | undefined {
  return value === undefined || value === null ? undefined : read(value, where);
}

export function asStrings(value: unknown, where: string): string[] {
  return asArray(value, where).map((item, index) => asString(item, `${where}[${index}]`));
}

export function asStringMap(value: unknown, where: string): Record<string, string> {
  const entries = Object.entries(asObject(value, where));
  return Object.fromEntries(entries.map(([key, item]) => [key, asString(item, `${where}.${key}`)]));
}

export function asBoolean(value: unknown, where: string): boolean {
  if (typeof value !== 'boolean') {
    throw wrong(where, 'not true or false');
  }
  return value;
}

/** A whole number that is not negative. */
export function asCount(value: unknown, where: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw wrong(where, 'not a whole number of zero or more');
  }
  return value;
}

/** `sha256:` and 64 lower-case hexadecimal digits. */
export function asDigest(value: unknown, where: string): string {
  const text = asString(value, where);
  if (!/^sha256:[0-9a-f]{64}$/.test(text)) {
    throw wrong(where, `not a sha256 digest: ${JSON.stringify(text.slice(0, 100))}`);
  }
  return text;
}

/** Deepest nesting of brackets outside strings. */
function nestingOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (inString) {
      if (code === 0x5c) {
        index += 1;
      } else if (code === 0x22) {
        inString = false;
      }
    } else if (code === 0x22) {
      inString = true;
    } else if (code === 0x5b || code === 0x7b) {
      depth += 1;
      deepest = Math.max(deepest, depth);
    } else if (code === 0x5d || code === 0x7d) {
      depth -= 1;
    }
  }
  return deepest;
}
