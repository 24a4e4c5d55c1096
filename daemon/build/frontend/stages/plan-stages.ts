import { invalidArgument } from '../../../base/errors.ts';
import { readFrom } from '../../../base/dockerfile/from.ts';
import type { Instruction } from '../../../base/dockerfile/instruction.ts';
import type { Dockerfile } from '../../../base/dockerfile/parse.ts';
import { descriptionOf, readArguments } from '../instructions/arguments.ts';
import type { Argument, Step } from '../instructions/command.ts';
import { readCommand } from '../instructions/read-command.ts';
import { BUILDKIT } from '../dialect.ts';
import { lintEach, lintFrom, lintTogether } from '../lint/names.ts';
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

/** Throws invalid_argument that names the line, when all before it has been looked at. Pure. */
export function planStages(dockerfile: Dockerfile, linter: Linter): Plan {
  const { escape } = dockerfile.directives;
  const globals: { argument: Argument; instruction: Instruction }[] = [];
  const stages: (StagePlan & { steps: Step[] })[] = [];
  for (const instruction of dockerfile.instructions) {
    const { name, lines } = instruction;
    const stage = stages.at(-1);
    if (name === 'FROM') {
      stages.push(readStage(instruction, linter));
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
  lintEach(dockerfile, linter);
  if (dockerfile.broken !== undefined) {
    throw dockerfile.broken;
  }
  if (stages.length === 0) {
    throw invalidArgument('dockerfile contains no stages to build');
  }
  lintTogether(dockerfile, stages, linter);
  return { escape, globals, stages };
}

function readStage(instruction: Instruction, linter: Linter): StagePlan & { steps: Step[] } {
  const from = readFrom(BUILDKIT, instruction);
  lintFrom(instruction, instruction.rest.split(/\s+/), linter);
  const description = descriptionOf(from.name, instruction.comments);
  return { ...from, from: instruction, description, steps: [] };
}
