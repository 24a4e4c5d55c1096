import { invalidArgument } from '../../../base/errors.ts';
import { closest } from '../../../base/dockerfile/closest.ts';
import type { Instruction } from '../../../base/dockerfile/instruction.ts';
import { commandWords } from './arguments.ts';
import type { RunCommand } from './command.ts';

/** RUN. Throws invalid_argument. Pure. */
export function readRun({ rest, flags }: Instruction): RunCommand {
  const { words, isJson } = commandWords(rest);
  if (words.length === 0) {
    throw invalidArgument('RUN requires at least one argument');
  }
  const value = (flag: string): string | undefined => flags.find((item) => item.name === flag)?.value;
  return {
    kind: 'run',
    words,
    isJson,
    mounts: flags.flatMap((flag) => (flag.name === 'mount' ? [flag.value ?? ''] : [])),
    network: oneOf('network mode', value('network') ?? 'default', ['default', 'none', 'host']),
    isPrivileged:
      oneOf('security mode', value('security') ?? 'sandbox', ['sandbox', 'insecure']) === 'insecure',
  };
}

/** Throws invalid_argument that names what is wrong, and what was probably meant. */
export function oneOf<T extends string>(what: string, value: string, values: readonly T[]): T {
  const found = values.find((item) => item === value);
  if (found === undefined) {
    const meant = closest(value, values);
    const hint = meant === undefined ? '' : ` (did you mean ${meant}?)`;
    throw invalidArgument(`unsupported ${what} ${JSON.stringify(value)}${hint}`);
  }
  return found;
}
