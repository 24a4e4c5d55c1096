import { parseArgs } from 'node:util';
import { errorText, invalidArgument } from '../../base/errors.ts';

/** A command below `berthd hub` or `berthd cluster`. */
export interface HubCommand {
  /** What follows the two words, for help and errors: `NAME [--email ADDRESS]`. */
  usage: string;
  help: string;
  /** How many words it needs beside flags; with `optional` that many more are taken. */
  operands: number;
  optional?: number;
  /** Flags with a value, and those without. */
  valued?: readonly string[];
  switches?: readonly string[];
}

export interface HubArguments {
  operands: readonly string[];
  values: ReadonlyMap<string, string>;
  switches: ReadonlySet<string>;
}

/** Flags that every command takes. */
export const COMMON_FLAGS = ['host', 'config-file'] as const;

/** Reads what stands behind the two words of a command. Throws invalid_argument that names the flag or the word. */
export function readArguments(
  name: string,
  command: HubCommand,
  argv: readonly string[],
  program = 'berthd hub',
): HubArguments {
  const { valued = [], switches = [], operands, optional = 0 } = command;
  const options = Object.fromEntries([
    ...[...valued, ...COMMON_FLAGS].map((flag) => [flag, { type: 'string' as const }]),
    ...[...switches, 'help'].map((flag) => [flag, { type: 'boolean' as const }]),
  ]);
  const { values, positionals } = parsed(`${program} ${name}`, command, { args: [...argv], options });
  const isHelp = values['help'] === true;
  if (!isHelp && (positionals.length < operands || positionals.length > operands + optional)) {
    throw invalidArgument(`usage: ${program} ${name} ${command.usage}`.trim());
  }
  return {
    operands: positionals,
    values: new Map(
      Object.entries(values).flatMap(([flag, value]) => (typeof value === 'string' ? [[flag, value]] : [])),
    ),
    switches: new Set(Object.entries(values).flatMap(([flag, value]) => (value === true ? [flag] : []))),
  };
}

function parsed(
  name: string,
  command: HubCommand,
  config: { args: string[]; options: Record<string, { type: 'string' | 'boolean' }> },
) {
  try {
    return parseArgs({ ...config, allowPositionals: true, strict: true });
  } catch (error) {
    const [problem] = errorText(error).split('. ');
    throw invalidArgument(`${problem}; usage: ${name} ${command.usage}`.trim(), { cause: error });
  }
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** `90d` -> seconds. Throws invalid_argument. */
export function seconds(flag: string, text: string): number {
  const [, digits = '', unit = ''] = /^([1-9]\d{0,8})([smhdw])$/.exec(text) ?? [];
  const factor = UNITS[unit];
  if (factor === undefined) {
    throw invalidArgument(`--${flag}: must look like 90d, 12h, 30m or 60s, not ${JSON.stringify(text)}`);
  }
  return Number(digits) * factor;
}

/** `a,b` -> its parts. */
export function parts(text: string): string[] {
  return text.split(',').filter((part) => part !== '');
}
