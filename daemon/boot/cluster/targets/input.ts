import { randomUUID } from 'node:crypto';
import { parse as parseYaml } from 'yaml';
import { errorText, invalidArgument } from '../../../base/errors.ts';
import type { HubArguments } from '../../hub/arguments.ts';
import { SKELETONS, type Parameter, type TargetCommand } from './operations.ts';
import { readStructure } from './shorthand.ts';

/** Reads a file that a flag names. */
export type ReadFile = (path: string) => string;

/** `clientToken` is `--client-token`. */
export function flagOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/**
 * The input of an operation: what `--cli-input-json` or `--cli-input-yaml` says, and over it the flags (seed 002, 4B).
 * Throws invalid_argument that names the flag or the field.
 */
export function readInput(
  command: TargetCommand,
  { values }: Pick<HubArguments, 'values'>,
  readFile: ReadFile,
): Record<string, unknown> {
  const input = { ...readDocument(values, readFile) };
  const known = new Map(command.parameters.map((parameter) => [parameter.name, parameter]));
  for (const name of Object.keys(input)) {
    if (!known.has(name)) {
      throw invalidArgument(`${name}: is not known; known are ${[...known.keys()].join(', ')}`);
    }
  }
  for (const parameter of command.parameters) {
    const text = values.get(flagOf(parameter.name));
    if (text !== undefined) {
      input[parameter.name] = named(flagOf(parameter.name), () => read(parameter, text, readFile));
    }
    if (parameter.isRequired === true && input[parameter.name] === undefined) {
      throw invalidArgument(`--${flagOf(parameter.name)}: is required`);
    }
  }
  if (known.has('clientToken')) {
    // A request that is sent again because its answer was lost must not be done twice.
    input['clientToken'] ??= randomUUID();
  }
  return input;
}

function readDocument(values: HubArguments['values'], readFile: ReadFile): Record<string, unknown> {
  const json = values.get('cli-input-json');
  const yaml = values.get('cli-input-yaml');
  if (json !== undefined && yaml !== undefined) {
    throw invalidArgument('--cli-input-json and --cli-input-yaml do not go together');
  }
  const flag = json === undefined ? 'cli-input-yaml' : 'cli-input-json';
  const text = json ?? yaml;
  if (text === undefined) {
    return {};
  }
  return named(flag, () => {
    const whole = contents(text, readFile);
    const document: unknown = json === undefined ? parseYaml(whole) : JSON.parse(whole);
    if (typeof document !== 'object' || document === null || Array.isArray(document)) {
      throw invalidArgument('must be an object');
    }
    return { ...document };
  });
}

function read({ kind, name }: Parameter, given: string, readFile: ReadFile): unknown {
  const text = contents(given, readFile);
  const shape = SKELETONS[name];
  if (kind === 'integer') {
    if (!/^-?\d+$/.test(text)) {
      throw invalidArgument(`must be a whole number, not ${JSON.stringify(text)}`);
    }
    return Number(text);
  }
  const isJsonList = text.trim().startsWith('[');
  if (kind === 'list' && !isJsonList) {
    return text.split(/[\s,]+/).filter((part) => part !== '');
  }
  if (kind === 'structures' && !isJsonList) {
    return text.split(/\s+/).map((part) => readStructure(part, shape));
  }
  if (kind === 'map') {
    const map = Object.entries(Object(readStructure(text, shape)));
    return Object.fromEntries(map.map(([key, value]) => [key, String(value)]));
  }
  return kind === 'text' ? text : readStructure(text, shape);
}

/** `file://PATH` is what stands in that file; `fileb://`, as the original's tool has it for certificates, too. */
function contents(text: string, readFile: ReadFile): string {
  const [, path] = /^fileb?:\/\/(.*)$/s.exec(text) ?? [];
  return path === undefined ? text : readFile(path);
}

function named<T>(flag: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw invalidArgument(`--${flag}: ${errorText(error)}`, { cause: error });
  }
}
