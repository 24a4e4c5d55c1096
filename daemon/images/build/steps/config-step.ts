import { jsonWords } from '../../../base/dockerfile/json-words.ts';
import { posix } from 'node:path';
import type { ContainerConfig, HealthConfig } from '../../../../api/types/container.ts';
import { invalidArgument } from '../../../base/errors.ts';
import { formatDuration } from '../../../base/go/duration.ts';
import { applyInstruction, exposedWords, pairs, variablesOf, type Change } from '../../commit/changes.ts';
import { expandText, splitWords } from '../../../base/dockerfile/words.ts';
import { parseArg } from '../args.ts';
import type { Instruction } from '../../../base/dockerfile/instruction.ts';
import { openReadRoot, statOf } from '../../../../storage/contexts/roots.ts';
import { layersOf, type Build, type StageState } from '../state.ts';
import { commitStep, nop } from './commit-step.ts';

/** Variables of a stage: build arguments, and the environment, which wins. */
export function stageVariables({ args }: Pick<Build, 'args'>, { config }: StageState): Map<string, string> {
  return new Map([...args.values, ...variablesOf(config)]);
}

export function whereOf({ lines, name }: Instruction): string {
  return `Dockerfile line ${lines.from}: ${name}`;
}

/** Instructions that change the configuration and nothing else. */
export async function configStep(build: Build, state: StageState, instruction: Instruction): Promise<void> {
  const { name, rest } = instruction;
  const variables = stageVariables(build, state);
  const change = { where: whereOf(instruction), rest, variables, escape: build.escape };
  const config = applyInstruction(state.config, name, change);
  // As dockerd: an entrypoint of the Dockerfile removes the command of the base.
  const resets = name === 'ENTRYPOINT' && !state.hasOwnCommand;
  if (name === 'CMD') {
    state.hasOwnCommand = true;
  }
  if (name === 'VOLUME' && state.imageId !== '') {
    await refuseFiles(build, state.imageId, Object.keys(config.Volumes ?? {}), change.where);
  }
  await commitStep(build, state, {
    config: resets ? { ...config, Cmd: null } : config,
    command: nop(describe(name, change, config), config),
  });
}

/** A volume is a directory: over a file no container of the image could start. */
async function refuseFiles(
  build: Build,
  imageId: string,
  paths: readonly string[],
  where: string,
): Promise<void> {
  await using root = await openReadRoot(build, layersOf(build, imageId));
  for (const path of paths) {
    if (statOf(root.view, posix.resolve('/', path)) === 'other') {
      throw invalidArgument(`${where}: cannot mount volume over existing file, file exists ${path}`);
    }
  }
}

export async function maintainerStep(build: Build, state: StageState, { rest }: Instruction): Promise<void> {
  await commitStep(build, state, {
    config: state.config,
    author: rest,
    command: nop(` MAINTAINER ${rest}`, state.config),
  });
}

/** ARG within a stage. */
export async function argStep(build: Build, state: StageState, instruction: Instruction): Promise<void> {
  const declared = readArgs(build, instruction, stageVariables(build, state));
  for (const { name, fallback } of declared) {
    build.args.declare(name, fallback);
  }
  const words = declared.map(({ name, fallback }) => (fallback === undefined ? name : `${name}=${fallback}`));
  await commitStep(build, state, {
    config: state.config,
    command: nop(` ARG ${words.join(' ')}`, state.config),
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

/** The instruction as the history shows it, in dockerd's words. */
function describe(name: string, change: Change, config: ContainerConfig): string {
  const { rest, ...options } = change;
  switch (name) {
    case 'CMD':
      return ` CMD ${quoted(config.Cmd ?? [])}`;
    case 'ENTRYPOINT':
      return ` ENTRYPOINT ${quoted(config.Entrypoint ?? [])}`;
    case 'SHELL':
      return ` SHELL [${(config.Shell ?? []).join(' ')}]`;
    case 'VOLUME':
      return ` VOLUME [${(jsonWords(rest) ?? splitWords(rest, options.variables, options.where)).join(' ')}]`;
    case 'ENV':
    case 'LABEL':
      return ` ${name} ${pairs(change)
        .map((pair) => pair.join('='))
        .join(' ')}`;
    case 'EXPOSE':
      return ` EXPOSE ${exposedWords(change).join(' ')}`;
    case 'HEALTHCHECK':
      return ` HEALTHCHECK ${describeCheck(config.Healthcheck ?? {})}`;
    case 'ONBUILD':
      return ` ONBUILD ${rest}`;
    default:
      return ` ${name} ${expandText(rest, options)}`;
  }
}

/** Go's own way to print such a structure. */
function describeCheck({ Test, Interval, Timeout, StartPeriod, Retries }: HealthConfig): string {
  const times = [Interval, Timeout, StartPeriod].map((nanos) => `"${formatDuration(nanos ?? 0)}"`);
  const retries = String.raw`'\x${(Retries ?? 0).toString(16).padStart(2, '0')}'`;
  return `&{${quoted(Test ?? [])} ${times.join(' ')} ${retries}}`;
}

/** As Go's %q of a list. */
function quoted(words: readonly string[]): string {
  return `[${words.map((word) => JSON.stringify(word)).join(' ')}]`;
}
