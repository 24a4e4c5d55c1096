import type { ContainerCreateRequest } from '../../../../api/types/container.ts';
import { EngineError, errorText, invalidArgument, isEngineError } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { shortId } from '../../../base/ids.ts';
import { jsonWords } from '../../../base/dockerfile/json-words.ts';
import { variablesOf } from '../../commit/changes.ts';
import type { Instruction } from '../dockerfile/parse.ts';
import { outputTo } from '../progress.ts';
import type { StepContainer } from '../../../build/graph/step-container.ts';
import type { StepRoot } from '../ports.ts';
import type { Build, StageState } from '../state.ts';
import { commitStep } from './commit-step.ts';

const SHELL = ['/bin/sh', '-c'];

/** A command of a RUN ended with something else than 0; clients take the code from here. */
export class CommandFailedError extends EngineError {
  readonly exitCode: number;
  readonly command: readonly string[];

  constructor(command: readonly string[], exitCode: number, why: string) {
    const reason = why === '' ? `returned a non-zero code: ${exitCode}` : `failed: ${why}`;
    super('internal', `The command '${command.join(' ')}' ${reason}`);
    this.exitCode = exitCode;
    this.command = command;
  }
}

/** RUN: its command in a container of the stage's image; what it changed is the layer. */
export async function runStep(build: Build, state: StageState, instruction: Instruction): Promise<void> {
  if (state.imageId === '') {
    throw invalidArgument(
      `Dockerfile line ${instruction.line}: RUN needs an image with files: FROM is scratch`,
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
      name: instruction.text,
      argv: command,
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

/** What a command is run with. */
export interface CommandHost extends Pick<Build, 'containers' | 'signal' | 'images'> {
  progress: StepContainer['progress'];
  removes: StepContainer['removes'];
  keepUntil: AbortSignal;
}

/** Answers the container's id once its command has ended well; it is the caller's to remove. */
export async function runCommand(
  build: CommandHost,
  { body, command, step }: { body: ContainerCreateRequest; command: readonly string[]; step?: StepRoot },
): Promise<string> {
  const { containers, progress, signal, keepUntil, removes } = build;
  failpoint('images.build.run');
  const { Id } = await containers.create(undefined, body, {
    signal,
    keepUntil,
    ofBuild: removes.afterSuccess ? 'removed' : 'kept',
    ...(step && { step }),
  });
  const kill = (): void => {
    // It may have ended by itself.
    containers.kill(Id, {}).catch((error: unknown) => {
      build.images.log.debug({ container: Id, err: error }, 'command of a canceled build not killed');
    });
  };
  try {
    progress.say(` ---> Running in ${shortId(Id)}\n`);
    const { StatusCode, Error: failure } = await runToEnd(build, Id, kill);
    signal.throwIfAborted();
    if (StatusCode !== 0) {
      throw new CommandFailedError(command, StatusCode, failure?.Message ?? '');
    }
    return Id;
  } catch (error) {
    if (signal.aborted || removes.always) {
      await removeContainer(build, Id, { says: true });
    }
    throw error;
  }
}

async function runToEnd(
  { containers, progress, signal }: CommandHost,
  id: string,
  kill: () => void,
): Promise<{ StatusCode: number; Error?: { Message: string } }> {
  const options = { logs: false, stream: true, stdin: false, stdout: true, stderr: true };
  const attachment = await containers.attach(id, options);
  const output = outputTo(progress);
  const said = attachment.connect(output);
  signal.addEventListener('abort', kill, { once: true });
  try {
    signal.throwIfAborted();
    await containers.start(id, {});
    if (signal.aborted) {
      kill();
    }
    // Not given up at the signal: the container is to be at rest when it is removed.
    const { done } = await containers.wait(id, {
      condition: 'not-running',
      signal: new AbortController().signal,
    });
    const result = await done;
    await said;
    return result;
  } catch (error) {
    attachment.abandon();
    throw error;
  } finally {
    signal.removeEventListener('abort', kill);
    output.destroy();
  }
}

export async function removeContainer(
  { containers, progress, images }: Pick<CommandHost, 'containers' | 'progress' | 'images'>,
  id: string,
  { says }: { says: boolean },
): Promise<void> {
  try {
    failpoint('images.build.remove');
    await containers.remove(id, { volumes: true, force: true, link: false });
    if (says) {
      progress.say(`Removing intermediate container ${shortId(id)}\n`);
    }
  } catch (error) {
    if (!isEngineError(error, 'not_found')) {
      images.log.error({ container: id, reason: errorText(error) }, 'container of a build stays');
    }
  }
}
