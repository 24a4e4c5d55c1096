import type { ContainerCreateRequest } from '../../../../api/types/container.ts';
import { invalidArgument } from '../../../base/errors.ts';
import { jsonWords } from '../../../base/dockerfile/json-words.ts';
import { variablesOf } from '../../commit/changes.ts';
import type { Instruction } from '../../../base/dockerfile/instruction.ts';
import type { Build, StageState } from '../state.ts';
import { commitStep } from './commit-step.ts';

const SHELL = ['/bin/sh', '-c'];

/** RUN: its command in a container of the stage's image; what it changed is the layer. */
export async function runStep(build: Build, state: StageState, instruction: Instruction): Promise<void> {
  if (state.imageId === '') {
    throw invalidArgument(
      `Dockerfile line ${instruction.lines.from}: RUN needs an image with files: FROM is scratch`,
    );
  }
  const { config } = state;
  const { rm, forcerm } = build.request;
  const command = jsonWords(instruction.rest) ?? [...(config.Shell ?? SHELL), instruction.rest];
  const own = variablesOf(config);
  const toPairs = (values: ReadonlyMap<string, string>): string[] =>
    [...values].filter(([name]) => !own.has(name)).map(([name, value]) => `${name}=${value}`);
  const known = toPairs(build.args.known).toSorted();
  const body: ContainerCreateRequest = {
    Image: state.imageId,
    // `RUN []` runs what the image would, as dockerd's: only a command takes the place of the entrypoint.
    ...(command.length > 0 && { Cmd: command, Entrypoint: [''] }),
    Env: [...(config.Env ?? []), ...toPairs(build.args.values)],
    Healthcheck: { Test: ['NONE'] },
    AttachStdout: true,
    AttachStderr: true,
    HostConfig: build.request.hostConfig,
  };
  let containerId = '';
  await commitStep(build, state, {
    config,
    // The arguments stand in the history, and tell runs apart.
    command: known.length === 0 ? command : [`|${known.length}`, ...known, ...command],
    work: {
      kind: 'run',
      name: instruction.written,
      argv: command,
      env: [...(config.Env ?? []), ...known],
      directory: config.WorkingDir || '/',
      user: config.User ?? '',
      hasVolumes: Object.keys(config.Volumes ?? {}).length > 0,
      container: {
        body,
        removes: { afterSuccess: rm || forcerm, always: forcerm },
        keepUntil: build.signal,
        created: (id) => {
          containerId = id;
        },
        progress: build.progress,
      },
    },
    containerId: () => containerId,
  });
}
