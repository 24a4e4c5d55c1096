import { invalidArgument } from '../../../base/errors.ts';
import { readFrom, type From } from '../../../base/dockerfile/from.ts';
import type { Instruction } from '../../../base/dockerfile/instruction.ts';
import type { Dockerfile } from '../../../base/dockerfile/parse.ts';
import { CLASSIC } from './dialect.ts';

/** What stands between one FROM and the next. */
export interface Stage extends From {
  /** Its FROM. */
  from: Instruction;
  steps: readonly Instruction[];
}

export interface Plan {
  escape: string;
  /** ARG before the first FROM. */
  globalArgs: readonly Instruction[];
  stages: readonly Stage[];
}

/** Stages of a Dockerfile, up to and with `target` (a name or a number; `''` = all). Throws invalid_argument. Pure. */
export function planStages({ directives, instructions }: Dockerfile, target: string): Plan {
  const { escape } = directives;
  const globalArgs: Instruction[] = [];
  const stages: (Stage & { steps: Instruction[] })[] = [];
  for (const instruction of instructions) {
    const stage = stages.at(-1);
    if (instruction.name === 'FROM') {
      stages.push(newStage(instruction, stages));
    } else if (stage !== undefined) {
      stage.steps.push(instruction);
    } else if (instruction.name === 'ARG') {
      globalArgs.push(instruction);
    } else {
      throw CLASSIC.error(instruction.lines.from, 'no build stage in current context');
    }
  }
  if (stages.length === 0) {
    throw invalidArgument('no build stage in current context');
  }
  if (target === '') {
    return { escape, globalArgs, stages };
  }
  const index = stageIndex(stages, target);
  if (index === undefined) {
    throw invalidArgument(`failed to reach build target ${target} in Dockerfile`);
  }
  return { escape, globalArgs, stages: stages.slice(0, index + 1) };
}

/** Position of a stage by its name, or by its number; undefined when there is none. */
export function stageIndex(stages: readonly Pick<Stage, 'name'>[], ref: string): number | undefined {
  const byName = stages.findIndex(({ name }) => name !== '' && name === ref.toLowerCase());
  if (byName >= 0) {
    return byName;
  }
  return /^\d+$/.test(ref) && Number(ref) < stages.length ? Number(ref) : undefined;
}

function newStage(from: Instruction, before: readonly Stage[]): Stage & { steps: Instruction[] } {
  const said = readFrom(CLASSIC, from);
  if (before.some((stage) => stage.name !== '' && stage.name === said.name)) {
    throw CLASSIC.error(from.lines.from, `duplicate name ${from.rest.split(/\s+/).at(-1) ?? ''}`);
  }
  return { ...said, from, steps: [] };
}
