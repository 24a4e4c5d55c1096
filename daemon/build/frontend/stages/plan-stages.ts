import { invalidArgument } from '../../../base/errors.ts';
import { parseError, type Instruction } from '../../dockerfile/instruction.ts';
import type { Dockerfile } from '../../dockerfile/parse.ts';
import { descriptionOf, readArguments } from '../instructions/arguments.ts';
import type { Argument, Step } from '../instructions/command.ts';
import { readCommand } from '../instructions/read-command.ts';
import { lintFrom, lintInstructions } from '../lint/names.ts';
import type { Linter } from '../lint/linter.ts';

/** What stands between one FROM and the next. */
export interface StagePlan {
  from: Instruction;
  /** As they were written, with variables in them. */
  base: string;
  platform: string;
  /** In small letters; `''` = none. */
  name: string;
  /** Of the comment before it. */
  description: string;
  steps: readonly Step[];
}

/** A Dockerfile taken apart. */
export interface Plan {
  escape: string;
  /** ARG before the first FROM. */
  globals: readonly { argument: Argument; instruction: Instruction }[];
  stages: readonly StagePlan[];
}

const STAGE_NAME = /^[a-z][a-z0-9-_.]*$/;

/** Throws invalid_argument that names the line. Pure. */
export function planStages(dockerfile: Dockerfile, linter: Linter): Plan {
  const { escape } = dockerfile.directives;
  const globals: { argument: Argument; instruction: Instruction }[] = [];
  const stages: (StagePlan & { steps: Step[] })[] = [];
  for (const instruction of dockerfile.instructions) {
    const { name, lines } = instruction;
    const stage = stages.at(-1);
    if (name === 'FROM') {
      stages.push(readFrom(instruction, linter));
      continue;
    }
    const command = readCommand(instruction, escape);
    if (stage !== undefined) {
      stage.steps.push({ command, instruction, lines, isTrigger: false });
    } else if (command.kind === 'arg') {
      globals.push(...readArguments(instruction, escape).map((argument) => ({ argument, instruction })));
    } else {
      throw invalidArgument('no build stage in current context', {
        details: { line: lines.from, endLine: lines.to },
      });
    }
  }
  if (stages.length === 0) {
    throw invalidArgument('dockerfile contains no stages to build');
  }
  lintInstructions(dockerfile, stages, linter);
  return { escape, globals, stages };
}

function readFrom(instruction: Instruction, linter: Linter): StagePlan & { steps: Step[] } {
  const { rest, flags, lines, comments } = instruction;
  const words = rest.split(/\s+/);
  const [base = '', as = 'as', written = ''] = words;
  if ((words.length !== 1 && words.length !== 3) || as.toLowerCase() !== 'as') {
    throw parseError(lines.from, 'FROM requires either one or three arguments');
  }
  const name = written.toLowerCase();
  if (words.length === 3 && !STAGE_NAME.test(name)) {
    const said = JSON.stringify(written);
    throw parseError(
      lines.from,
      `invalid name for build stage: ${said}, name can't start with a number or contain symbols`,
    );
  }
  lintFrom(instruction, words, linter);
  return {
    from: instruction,
    base,
    platform: flags.find((flag) => flag.name === 'platform')?.value ?? '',
    name,
    description: descriptionOf(name, comments),
    steps: [],
  };
}
