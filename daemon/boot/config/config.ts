import { Ajv } from 'ajv';
import type { ErrorObject, ValidateFunction } from 'ajv';
import { EngineError, errorText, invalidArgument } from '../../base/errors.ts';
import { checkConfig } from './checks.ts';
import { readEnvironment, variableName } from './flags.ts';
import type { CommandLine } from './flags.ts';
import { fileKey } from './kinds.ts';
import { settingEntries } from './settings.ts';
import { unsupportedKeys } from './unsupported-keys.ts';
import type { Config } from './settings.ts';

export type { Config } from './settings.ts';

export const DEFAULT_CONFIG_FILE = '/etc/berth/daemon.json';

export interface ConfigSources {
  commandLine: CommandLine;
  environment: Readonly<Record<string, string | undefined>>;
  /** Contents of a file; undefined when there is none. May throw. */
  readFile: (path: string) => string | undefined;
}

/** Values of one source by key, not yet checked. `describe` says where a key came from. */
interface Source {
  values: ReadonlyMap<string, unknown>;
  describe(key: string): string;
}

/**
 * The configuration: flags over environment over file over defaults. A list replaces the list of a weaker source.
 * Pure but for `readFile`. Throws invalid_argument with one line that names source, setting and value.
 */
export function loadConfig(sources: ConfigSources): Config {
  const environment = readEnvironment(sources.environment);
  const asked = sources.commandLine.configFile ?? environment.configFile;
  const path = asked ?? DEFAULT_CONFIG_FILE;
  const text = readConfigFile(sources.readFile, path);
  if (text === undefined && asked !== undefined) {
    throw invalidArgument(`configuration file ${path}: no such file`);
  }
  // Without its own schema, whose compilation takes a sixth of the daemon's start; a unit test asks for that.
  const validate = new Ajv({
    strict: true,
    verbose: true,
    meta: false,
    validateSchema: false,
    code: { optimize: false },
  }).compile(settingsSchema());
  const flags = new Map(settingEntries.map(([, { key, flag }]) => [key, flag]));
  const fileKeys = new Map(settingEntries.map(([, setting]) => [setting.key, fileKey(setting)]));
  const layers: Source[] = [
    {
      values: parseFile(path, text ?? '{}'),
      describe: (key) => `configuration file ${path}: ${fileKeys.get(key)}`,
    },
    fromWords(environment.words, (key) => `environment variable ${variableName(key)}`),
    fromWords(sources.commandLine.words, (key) => `flag --${flags.get(key)}`),
  ];
  for (const layer of layers) {
    check(validate, layer);
  }
  const config = merge(layers.map(({ values }) => values));
  checkConfig(config);
  return config;
}

/** All settings by key, as a JSON schema: the configuration file without its sections. */
export function settingsSchema(): object {
  return {
    type: 'object',
    properties: Object.fromEntries(settingEntries.map(([, setting]) => [setting.key, setting.schema])),
    additionalProperties: false,
  };
}

function readConfigFile(readFile: ConfigSources['readFile'], path: string): string | undefined {
  try {
    return readFile(path);
  } catch (error) {
    throw invalidArgument(`configuration file ${path}: ${errorText(error)}`, { cause: error });
  }
}

function merge(layers: readonly ReadonlyMap<string, unknown>[]): Config {
  const merged = Object.fromEntries(
    settingEntries.map(([name, setting]) => {
      const layer = layers.findLast((values) => values.has(setting.key));
      return [name, layer === undefined ? setting.default : setting.normalize(layer.get(setting.key))];
    }),
  );
  // One entry per setting, each made by that setting's own `normalize` or its default.
  return Object.freeze(merged) as Config;
}

function parseFile(path: string, text: string): ReadonlyMap<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalidArgument(`configuration file ${path}: ${errorText(error)}`, { cause: error });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidArgument(`configuration file ${path}: must hold one JSON object`);
  }
  const given = flatten(path, value);
  const keys = new Map(settingEntries.map(([, setting]) => [fileKey(setting), setting.key]));
  const strange = [...given.keys()].filter((key) => !keys.has(key));
  const unsupported = strange.filter((key) => unsupportedKeys.has(key));
  const unknown = strange.filter((key) => !unsupportedKeys.has(key));
  if (unknown.length > 0) {
    throw invalidArgument(`configuration file ${path}: unknown ${naming(unknown)}`);
  }
  if (unsupported.length > 0) {
    throw invalidArgument(`configuration file ${path}: ${naming(unsupported)} not supported by berthd`);
  }
  return new Map([...given].map(([key, one]) => [keys.get(key) ?? key, one]));
}

/** `{"proxies": {"http-proxy": "x"}}` -> `proxies.http-proxy`: what stands in sections, as if it did not. */
function flatten(path: string, file: object): Map<string, unknown> {
  const sections = new Set(settingEntries.map(([, { section }]) => section));
  return new Map(
    Object.entries(file).flatMap(([key, value]: [string, unknown]) => {
      if (!sections.has(key)) {
        return [[key, value]];
      }
      if (typeof value !== 'object' || value === null || Array.isArray(value)) {
        throw invalidArgument(`configuration file ${path}: ${key}: must be an object`);
      }
      return Object.entries(value).map(([inner, one]): [string, unknown] => [`${key}.${inner}`, one]);
    }),
  );
}

function naming(keys: readonly string[]): string {
  return `${keys.length > 1 ? 'keys' : 'key'} ${keys.map((key) => JSON.stringify(key)).join(', ')}`;
}

function fromWords(words: ReadonlyMap<string, readonly string[]>, describe: (key: string) => string): Source {
  const values = new Map<string, unknown>();
  for (const [, setting] of settingEntries) {
    const given = words.get(setting.key);
    if (given === undefined) {
      continue;
    }
    try {
      values.set(setting.key, setting.parse(given));
    } catch (error) {
      throw error instanceof EngineError
        ? invalidArgument(`${describe(setting.key)}: ${error.message}`, { cause: error })
        : error;
    }
  }
  return { values, describe };
}

function check(validate: ValidateFunction, layer: Source): void {
  if (validate(Object.fromEntries(layer.values))) {
    return;
  }
  // The deepest finding says most: "anyOf" comes after the findings of its branches.
  const finding = validate.errors?.[0];
  const [key = '', ...inside] = (finding?.instancePath ?? '').split('/').slice(1);
  const place = inside.length > 0 ? ` (${inside.join('.')})` : '';
  const placeholder =
    settingEntries.find(([, setting]) => setting.key === key)?.[1].placeholder ?? 'true|false';
  throw invalidArgument(`${layer.describe(key)}${place}: ${problem(finding, placeholder)}`);
}

function problem(finding: ErrorObject | undefined, placeholder: string): string {
  // A proxy's password may stand where it does not belong.
  const value = JSON.stringify(finding?.data)?.replaceAll(/\/\/[^"\s]*@/g, '//xxxxx:xxxxx@');
  const schema: unknown = finding?.schema;
  if (finding?.keyword === 'enum') {
    return `must be one of ${Array.isArray(schema) ? schema.join(', ') : ''}, not ${value}`;
  }
  if (finding?.keyword === 'pattern') {
    return `must look like ${placeholder}, not ${value}`;
  }
  return `${finding?.message ?? 'is wrong'}, not ${value}`;
}
