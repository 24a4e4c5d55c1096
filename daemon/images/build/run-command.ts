import { Duplex } from 'node:stream';
import type { ContainerCreateRequest } from '../../../api/types/container.ts';
import { EngineError, errorText, invalidArgument, isEngineError } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { shortId } from '../../base/ids.ts';
import type { StepContainer } from '../../build/graph/step-container.ts';
import type { ImageContext } from '../context.ts';
import type { BuildContainers, StepRoot } from './ports.ts';

const FRAME_HEAD_BYTES = 8;

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

/** Of the runtime: a program that is not there, or cannot be executed. */
const NO_PROGRAM =
  /^OCI runtime create failed: runc create failed: (unable to start container process: .*): unknown$/s;
/** In front of what keeps a command from its start. */
const USER_UNKNOWN = /^unable to find (?:user|group) /;

/** A command of BuildKit's builder that could not be started, in its words. */
export function unstarted(
  error: unknown,
  command: readonly string[],
  output: CommandHost['progress']['output'],
): unknown {
  const text = isEngineError(error) ? error.message : '';
  const why = NO_PROGRAM.exec(text)?.[1];
  if (why !== undefined) {
    output(2, Buffer.from(`runc run failed: ${why}\n`));
    return new CommandFailedError(command, 1, '');
  }
  return USER_UNKNOWN.test(text)
    ? invalidArgument(`process ${JSON.stringify(command.join(' '))} did not complete successfully: ${text}`)
    : error;
}

/** What a command is run with. */
export interface CommandHost {
  containers: BuildContainers;
  images: ImageContext;
  signal: AbortSignal;
  progress: StepContainer['progress'];
  removes: StepContainer['removes'];
  keepUntil: AbortSignal;
  /** What the container does not have of what it asked for. */
  warn(text: string): void;
  /** Takes the container of a command that failed; undefined = it is removed. */
  left?: (id: string) => void;
}

/** Answers the container's id once its command has ended well; it is the caller's to remove. */
export async function runCommand(
  build: CommandHost,
  {
    body,
    command,
    step,
    validExitCodes = [0],
  }: {
    body: ContainerCreateRequest;
    command: readonly string[];
    step?: StepRoot;
    validExitCodes?: readonly number[];
  },
): Promise<string> {
  const { containers, progress, signal, keepUntil, removes } = build;
  failpoint('images.build.run');
  const { Id, Warnings } = await containers.create(undefined, body, {
    signal,
    keepUntil,
    ofBuild: removes.afterSuccess ? 'removed' : 'kept',
    ...(step && { step }),
  });
  Warnings.forEach((text) => build.warn(text));
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
    if (!validExitCodes.includes(StatusCode)) {
      throw new CommandFailedError(command, StatusCode, failure?.Message ?? '');
    }
    return Id;
  } catch (error) {
    const thrown =
      step === undefined
        ? error
        : unstarted(error, command, (stream, bytes) => progress.output(stream, bytes));
    if (build.left !== undefined && !signal.aborted && thrown instanceof CommandFailedError) {
      build.left(Id);
    } else if (signal.aborted || removes.always) {
      await removeContainer(build, Id, { says: true });
    }
    throw thrown;
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

/** A client's end of an attached container: its framed output is taken apart. */
function outputTo(progress: Pick<StepContainer['progress'], 'output' | 'room'>): Duplex {
  let pending: Buffer = Buffer.alloc(0);
  const take = (): void => {
    while (pending.length >= FRAME_HEAD_BYTES) {
      const end = FRAME_HEAD_BYTES + pending.readUInt32BE(4);
      if (pending.length < end) {
        return;
      }
      progress.output(pending[0] ?? 1, pending.subarray(FRAME_HEAD_BYTES, end));
      pending = pending.subarray(end);
    }
  };
  const stream = new Duplex({
    // The client has no input for the container.
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      take();
      void goOn(progress, done).catch((error: Error) => stream.destroy(error));
    },
  });
  return stream;
}

async function goOn(progress: Pick<StepContainer['progress'], 'room'>, done: () => void): Promise<void> {
  await progress.room();
  done();
}
