import { invalidArgument } from '../../../base/errors.ts';
import { closest } from '../../../base/dockerfile/closest.ts';
import type { Instruction } from '../../../base/dockerfile/instruction.ts';
import { commandWords } from './arguments.ts';
import type { RunCommand } from './command.ts';

/** RUN. Throws invalid_argument. Pure. */
export function readRun({ rest, flags }: Instruction): RunCommand {
  const { words, isJson } = commandWords(rest);
  const values = (name: string): string[] =>
    flags.flatMap((flag) => (flag.name === name ? [flag.value ?? ''] : []));
  const value = (flag: string): string | undefined => flags.find((item) => item.name === flag)?.value;
  return {
    kind: 'run',
    words,
    isJson,
    mounts: values('mount'),
    devices: values('device'),
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
