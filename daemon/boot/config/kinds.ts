import type { Ulimit } from '../../../api/types/host-config.ts';
import { invalidArgument } from '../../base/errors.ts';
import { parseBool, parseSize, SIZE } from '../../base/go/values.ts';

/**
 * One setting of the daemon: how it is called and read. `kind` decides how a flag or an environment variable is read
 * (`parse`, from text) and what the configuration file may hold (`schema`, JSON Schema for ajv).
 */
export interface Setting<T> {
  /** In daemon.json; `BERTH_` + upper case with underscores in the environment. */
  key: string;
  /** The key of daemon.json whose object it stands in; undefined = at the top. */
  section?: string;
  /** On the command line, without dashes; dockerd's flags are singular where its keys are plural. */
  flag: string;
  short?: string;
  default: T;
  /** For `--help`: a sentence without full stop. */
  help: string;
  /** How a value looks, for `--help`; null = a switch that needs none. */
  placeholder: string | null;
  /** A flag given again adds to it instead of replacing it. */
  isRepeatable: boolean;
  /** Taken over by SIGHUP. */
  isReloadable: boolean;
  schema: Readonly<Record<string, unknown>>;
  /** Reads the words of one source in order. Throws invalid_argument with the problem; the caller names the setting. */
  parse(words: readonly string[]): unknown;
  /** From what the schema let through to the value of the configuration. */
  normalize(value: unknown): T;
}

interface Naming {
  key: string;
  section?: string;
  flag?: string;
  short?: string;
  help: string;
  isReloadable?: boolean;
}

/** A text; with `oneOf` only these, with `pattern` only what matches. An empty default means "not said". */
export function text<const T extends string = string, const Default extends string = string>(
  naming: Naming & { default: Default; oneOf?: readonly T[]; pattern?: RegExp; placeholder?: string },
): Setting<T | Default> {
  const { oneOf, pattern } = naming;
  return {
    ...named(naming),
    default: naming.default,
    placeholder: naming.placeholder ?? (oneOf ? oneOf.join('|') : 'text'),
    schema: {
      type: 'string',
      ...(oneOf && { enum: [...oneOf] }),
      ...(pattern && { pattern: pattern.source }),
    },
    parse: lastWord,
    // The schema let only strings of this set through.
    normalize: (value) => value as T | Default,
  };
}

/** true or false. */
export function toggle(naming: Naming & { default: boolean }): Setting<boolean> {
  return {
    ...named(naming),
    default: naming.default,
    placeholder: null,
    schema: { type: 'boolean' },
    parse: (words) => parseSwitch(lastWord(words)),
    normalize: (value) => value === true,
  };
}

/** A whole number from `minimum` to `maximum`. */
export function integer(
  naming: Naming & { default: number; minimum: number; maximum: number },
): Setting<number> {
  const { minimum, maximum } = naming;
  return {
    ...named(naming),
    default: naming.default,
    placeholder: 'number',
    schema: { type: 'integer', minimum, maximum },
    parse: (words) => parseNumber(lastWord(words)),
    normalize: Number,
  };
}

/** Bytes: a number, or text like `64m`. */
export function bytes(naming: Naming & { default: number; minimum: number }): Setting<number> {
  return {
    ...named(naming),
    default: naming.default,
    placeholder: 'bytes',
    schema: {
      anyOf: [
        { type: 'integer', minimum: naming.minimum },
        { type: 'string', pattern: SIZE.source },
      ],
    },
    parse: (words) => parseSize(lastWord(words), 1024),
    normalize: (value) => (typeof value === 'number' ? value : parseSize(String(value), 1024)),
  };
}

/** Texts. `pattern` holds for each. */
export function list(
  naming: Naming & { default: readonly string[]; pattern?: RegExp; placeholder?: string },
): Setting<readonly string[]> {
  const { pattern } = naming;
  return {
    ...named(naming),
    default: naming.default,
    placeholder: naming.placeholder ?? 'text',
    isRepeatable: true,
    schema: { type: 'array', items: { type: 'string', ...(pattern && { pattern: pattern.source }) } },
    parse: (words) => [...words],
    // The schema let only arrays of strings through.
    normalize: (value) => Object.freeze([...(value as string[])]),
  };
}

/** `key=value` pairs. */
export function map(
  naming: Naming & { default: Readonly<Record<string, string>> },
): Setting<Readonly<Record<string, string>>> {
  return {
    ...named(naming),
    default: naming.default,
    placeholder: 'key=value',
    isRepeatable: true,
    schema: { type: 'object', additionalProperties: { type: 'string' } },
    parse: (words) => Object.fromEntries(words.map(splitPair)),
    // The schema let only objects of strings through.
    normalize: (value) => Object.freeze({ ...(value as Record<string, string>) }),
  };
}

/** `{"bridge": {"com.docker.network.driver.mtu": "1450"}}`, or `bridge=com.docker.network.driver.mtu=1450`. */
export function mapByDriver(
  naming: Naming,
): Setting<Readonly<Record<string, Readonly<Record<string, string>>>>> {
  return {
    ...named(naming),
    default: Object.freeze({}),
    placeholder: 'driver=key=value',
    isRepeatable: true,
    schema: {
      type: 'object',
      additionalProperties: { type: 'object', additionalProperties: { type: 'string' } },
    },
    parse: (words) => {
      const byDriver: Record<string, Record<string, string>> = {};
      for (const [driver, rest] of words.map(splitPair)) {
        const [key, value] = splitPair(rest);
        byDriver[driver] = { ...byDriver[driver], [key]: value };
      }
      return byDriver;
    },
    // The schema let only this shape through.
    normalize: (value) => Object.freeze({ ...(value as Record<string, Record<string, string>>) }),
  };
}

/** Limits of processes: `{"nofile": {"Name": "nofile", "Soft": 1024, "Hard": 2048}}`, or `nofile=1024:2048`. */
export function ulimits(naming: Naming): Setting<Readonly<Record<string, Ulimit>>> {
  const limit = { type: 'integer', minimum: -1 };
  return {
    ...named(naming),
    default: Object.freeze({}),
    placeholder: 'name=soft[:hard]',
    isRepeatable: true,
    schema: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        properties: { Name: { type: 'string' }, Soft: limit, Hard: limit },
        required: ['Soft', 'Hard'],
        additionalProperties: false,
      },
    },
    parse: (words) => Object.fromEntries(words.map(parseUlimit)),
    normalize: (value) => {
      // The schema let only this shape through; the name may be left to the key.
      const given = value as Record<string, { Name?: string; Soft: number; Hard: number }>;
      return Object.freeze(
        Object.fromEntries(Object.entries(given).map(([name, one]) => [name, { ...one, Name: name }])),
      );
    },
  };
}

/** `{"user-per-hour": 5000}`, or `user-per-hour=5000`: whole numbers from 0 on, by these names. */
export function numbers<const Name extends string>(
  naming: Naming & { names: readonly Name[] },
): Setting<Readonly<Partial<Record<Name, number>>>> {
  return {
    ...named(naming),
    default: Object.freeze({}),
    placeholder: 'name=number',
    isRepeatable: true,
    schema: {
      type: 'object',
      properties: Object.fromEntries(naming.names.map((name) => [name, { type: 'integer', minimum: 0 }])),
      additionalProperties: false,
    },
    parse: (words) =>
      Object.fromEntries(words.map(splitPair).map(([name, word]) => [name, parseNumber(word)])),
    // The schema let only numbers by these names through.
    normalize: (value) => Object.freeze({ ...(value as Partial<Record<Name, number>>) }),
  };
}

/** `[{"base": "10.10.0.0/16", "size": 24}]`, or `base=10.10.0.0/16,size=24`. */
export function addressPools(naming: Naming): Setting<readonly { base: string; size: number }[]> {
  return {
    ...named(naming),
    default: Object.freeze([]),
    placeholder: 'base=network/bits,size=bits',
    isRepeatable: true,
    schema: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          base: { type: 'string', pattern: '^[0-9a-fA-F:.]+/\\d{1,3}$' },
          size: { type: 'integer', minimum: 8, maximum: 126 },
        },
        required: ['base', 'size'],
        additionalProperties: false,
      },
    },
    parse: (words) =>
      words.map((word) => {
        const { base, size } = Object.fromEntries(word.split(',').map(splitPair));
        return { base, size: parseNumber(size ?? '') };
      }),
    // The schema let only this shape through.
    normalize: (value) => Object.freeze([...(value as { base: string; size: number }[])]),
  };
}

/** A program that creates containers as runc does. */
export interface RuntimeSetting {
  /** Absolute, or a name on the PATH. */
  path: string;
  /** Arguments before the verb. */
  runtimeArgs: readonly string[];
}

/** `{"crun": {"path": "crun", "runtimeArgs": ["--debug"]}}`, or `crun=/usr/bin/crun`. */
export function runtimes(naming: Naming): Setting<Readonly<Record<string, RuntimeSetting>>> {
  return {
    ...named(naming),
    default: Object.freeze({}),
    placeholder: 'name=path',
    isRepeatable: true,
    schema: {
      type: 'object',
      propertyNames: { pattern: '^[a-zA-Z0-9][a-zA-Z0-9_.-]*$' },
      additionalProperties: {
        type: 'object',
        properties: {
          path: { type: 'string', pattern: '^(/.*|[^/\\s]+)$' },
          runtimeArgs: { type: 'array', items: { type: 'string' } },
        },
        required: ['path'],
        additionalProperties: false,
      },
    },
    parse: (words) => Object.fromEntries(words.map(splitPair).map(([name, path]) => [name, { path }])),
    normalize: (value) => {
      // The schema let only this shape through.
      const given = value as Record<string, { path: string; runtimeArgs?: string[] }>;
      return Object.freeze(
        Object.fromEntries(
          Object.entries(given).map(([name, { path, runtimeArgs = [] }]) => [name, { path, runtimeArgs }]),
        ),
      );
    },
  };
}

function named({ key, section, flag = key, short, help, isReloadable = false }: Naming): {
  key: string;
  section?: string;
  flag: string;
  short?: string;
  help: string;
  isReloadable: boolean;
  isRepeatable: boolean;
} {
  return {
    key,
    ...(section && { section }),
    flag,
    ...(short && { short }),
    help,
    isReloadable,
    isRepeatable: false,
  };
}

/** A setting as daemon.json has it: `proxies.http-proxy`, and `hub.address` for `hub-address`. */
export function fileKey({ key, section }: Pick<Setting<unknown>, 'key' | 'section'>): string {
  return section === undefined
    ? key
    : `${section}.${key.startsWith(`${section}-`) ? key.slice(section.length + 1) : key}`;
}

function lastWord(words: readonly string[]): string {
  return words.at(-1) ?? '';
}

function parseSwitch(word: string): boolean {
  try {
    return parseBool(word);
  } catch (error) {
    throw invalidArgument(`must be true or false, not ${JSON.stringify(word)}`, { cause: error });
  }
}

function parseNumber(word: string): number {
  if (!/^-?\d{1,15}$/.test(word)) {
    throw invalidArgument(`must be a whole number, not ${JSON.stringify(word)}`);
  }
  return Number(word);
}

function splitPair(word: string): [string, string] {
  const separator = word.indexOf('=');
  if (separator <= 0) {
    throw invalidArgument(`must be key=value, not ${JSON.stringify(word)}`);
  }
  return [word.slice(0, separator), word.slice(separator + 1)];
}

function parseUlimit(word: string): [string, { Soft: number; Hard: number }] {
  const match = /^(\w+)=(-?\d+)(?::(-?\d+))?$/.exec(word);
  if (!match) {
    throw invalidArgument(`must be name=soft[:hard], not ${JSON.stringify(word)}`);
  }
  const [, name = '', soft = '', hard = soft] = match;
  return [name, { Soft: Number(soft), Hard: Number(hard) }];
}
