import { invalidArgument } from '../../../base/errors.ts';
import { parseError, type Dockerfile, type Instruction } from './parse.ts';

/** What stands between one FROM and the next. */
export interface Stage {
  /** Its FROM. */
  from: Instruction;
  /** The base as it was written, with variables in it. */
  base: string;
  /** Given by AS, in small letters; `''` = none. */
  name: string;
  platform: string;
  steps: readonly Instruction[];
}

export interface Plan {
  escape: string;
  /** ARG before the first FROM. */
  globalArgs: readonly Instruction[];
  stages: readonly Stage[];
}

const STAGE_NAME = /^[a-z][a-z0-9-_.]*$/;

/** Stages of a Dockerfile, up to and with `target` (a name or a number; `''` = all). Throws invalid_argument. Pure. */
export function planStages({ escape, instructions }: Dockerfile, target: string): Plan {
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
      throw parseError(instruction.line, 'no build stage in current context');
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
  const words = from.rest.split(/\s+/);
  const [base = '', as = 'as', name = ''] = words;
  if ((words.length !== 1 && words.length !== 3) || as.toLowerCase() !== 'as') {
    throw parseError(from.line, 'FROM requires either one or three arguments');
  }
  const lower = name.toLowerCase();
  if (words.length === 3 && !STAGE_NAME.test(lower)) {
    throw parseError(
      from.line,
      `invalid name for build stage: "${name}", name can't start with a number or contain symbols`,
    );
  }
  if (before.some((stage) => stage.name !== '' && stage.name === lower)) {
    throw parseError(from.line, `duplicate name ${name}`);
  }
  return { from, base, name: lower, platform: from.flags.get('platform') ?? '', steps: [] };
}
