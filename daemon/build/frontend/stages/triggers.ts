import { EngineError, invalidArgument, isEngineError } from '../../../base/errors.ts';
import { parseDockerfile } from '../../../base/dockerfile/parse.ts';
import { BUILDKIT } from '../dialect.ts';
import type { Step } from '../instructions/command.ts';
import { readCommand } from '../instructions/read-command.ts';
import type { Stage } from './stage.ts';

/** ONBUILD of the image or the stage that a stage is based on; its own steps come after them. */
export function triggersOf(stage: Stage): Step[] {
  const { base, state } = stage;
  const triggers =
    base === undefined
      ? (state?.image.config.OnBuild ?? [])
      : base.steps.flatMap(({ command }) => (command.kind === 'onbuild' ? [command.trigger] : []));
  return triggers.map((trigger) => readTrigger(stage, trigger));
}

/** Throws invalid_argument with the lines of the FROM. */
function readTrigger({ lines }: Stage, trigger: string): Step {
  try {
    const { instructions, directives } = parseDockerfile(BUILDKIT, trigger);
    const [instruction, ...others] = instructions;
    if (instruction === undefined || others.length > 0) {
      throw invalidArgument('onbuild trigger should be a single expression');
    }
    if (['FROM', 'ONBUILD', 'MAINTAINER'].includes(instruction.name)) {
      throw invalidArgument(`${instruction.name} isn't allowed as an ONBUILD trigger`);
    }
    return { command: readCommand(instruction, directives.escape), instruction, lines, isTrigger: true };
  } catch (error) {
    if (!isEngineError(error)) {
      throw error;
    }
    const details = { line: lines.from, endLine: lines.to };
    throw new EngineError(error.code, error.message, { cause: error, details });
  }
}
