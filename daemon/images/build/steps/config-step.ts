import type { ContainerConfig } from '../../../../api/types/container.ts';
import { applyInstruction, jsonWords, variablesOf } from '../../changes.ts';
import { expandText, splitWords } from '../../words.ts';
import { parseArg } from '../args.ts';
import type { Instruction } from '../dockerfile/parse.ts';
import type { Build, StageState } from '../state.ts';
import { commitStep, nop } from './commit-step.ts';

/** Variables of a stage: build arguments, and the environment, which wins. */
export function stageVariables({ args }: Pick<Build, 'args'>, { config }: StageState): Map<string, string> {
  return new Map([...args.values, ...variablesOf(config)]);
}

export function whereOf({ line, name }: Instruction): string {
  return `Dockerfile line ${line}: ${name}`;
}

/** Instructions that change the configuration and nothing else. */
export async function configStep(build: Build, state: StageState, instruction: Instruction): Promise<void> {
  const { name, rest } = instruction;
  const variables = stageVariables(build, state);
  const change = { where: whereOf(instruction), rest, variables, escape: build.escape };
  const config = applyInstruction(state.config, name, change);
  // As dockerd: an entrypoint of the Dockerfile's takes away the command of the base.
  const resets = name === 'ENTRYPOINT' && !state.hasOwnCommand;
  if (name === 'CMD') {
    state.hasOwnCommand = true;
  }
  await commitStep(build, state, {
    config: resets ? { ...config, Cmd: null } : config,
    command: nop(describe(name, change, config)),
  });
}

export async function maintainerStep(build: Build, state: StageState, { rest }: Instruction): Promise<void> {
  await commitStep(build, state, {
    config: state.config,
    author: rest,
    command: nop(`MAINTAINER ${rest}`),
  });
}

/** ARG within a stage. */
export async function argStep(build: Build, state: StageState, instruction: Instruction): Promise<void> {
  for (const { name, fallback } of readArgs(build, instruction, stageVariables(build, state))) {
    build.args.declare(name, fallback);
  }
  await commitStep(build, state, {
    config: state.config,
    command: nop(`ARG ${instruction.rest}`),
    // A value that is used counts where it is used.
  });
}

export function readArgs(
  { escape }: Pick<Build, 'escape'>,
  instruction: Instruction,
  variables: ReadonlyMap<string, string>,
): { name: string; fallback: string | undefined }[] {
  const where = whereOf(instruction);
  return splitWords(instruction.rest, variables, where, escape).map((word) => parseArg(word, where));
}

/** The instruction as the history shows it. */
function describe(
  name: string,
  {
    rest,
    ...options
  }: { rest: string; where: string; variables: ReadonlyMap<string, string>; escape: string },
  config: ContainerConfig,
): string {
  switch (name) {
    case 'CMD':
      return ` CMD ${quoted(config.Cmd ?? [])}`;
    case 'ENTRYPOINT':
      return ` ENTRYPOINT ${quoted(config.Entrypoint ?? [])}`;
    case 'SHELL':
      return ` SHELL [${(config.Shell ?? []).join(' ')}]`;
    case 'VOLUME':
      return ` VOLUME [${(jsonWords(rest) ?? splitWords(rest, options.variables, options.where)).join(' ')}]`;
    case 'ONBUILD':
    case 'HEALTHCHECK':
      return ` ${name} ${rest}`;
    default:
      return ` ${name} ${expandText(rest, options)}`;
  }
}

/** As Go's %q of a list. */
function quoted(words: readonly string[]): string {
  return `[${words.map((word) => JSON.stringify(word)).join(' ')}]`;
}
