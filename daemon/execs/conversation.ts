import { once } from 'node:events';
import type { Duplex, Readable } from 'node:stream';
import { errorText } from '../base/errors.ts';
import { pumpClientInput } from '../base/stdio/client-input.ts';
import { ClientOutput } from '../base/stdio/client-output.ts';
import type { ExecProcess } from '../containers/stdio/process-streams.ts';
import type { ExecsDeps } from './deps.ts';
import { execEvent } from './instance.ts';
import type { ExecInstance } from './instance.ts';
import { launchExec } from './launch.ts';

/**
 * Runs the command for an attached client, from the first byte to its exit. The client may leave at any time; the
 * command goes on. The output ends after the instance has: a client that inspects it then reads the exit code. Never
 * rejects.
 *
 * Whether the output comes in frames is what the request to start says (`tty`), not what the command has: clients that
 * leave it out there read frames of a terminal's output too, as dockerd sends them.
 */
export async function converse(
  context: ExecsDeps,
  instance: ExecInstance,
  socket: Duplex,
  { tty }: { tty: boolean },
): Promise<void> {
  const { request } = instance;
  const output = new ClientOutput(socket, { tty });
  try {
    const { process, settled } = await launchExec(context, instance, { stdin: request.AttachStdin ?? false });
    const finished = Promise.all([
      pump(process.stdout, 'stdout', output, request.AttachStdout ?? false),
      process.stderr && pump(process.stderr, 'stderr', output, request.AttachStderr ?? false),
      settled,
    ]);
    await Promise.race([finished, untilDetached(instance, socket, process)]);
  } catch (error) {
    // The head of the answer is sent: the reason goes where the output would have gone, as from dockerd.
    await output.write('stdout', Buffer.from(`${errorText(error)}\r\n`));
    context.log.warn({ container: instance.target.id, exec: instance.id, err: error }, 'exec failed');
  }
  await output.end();
  // The client may keep its side open for ever; nothing is read from it any more.
  socket.resume();
}

/** Reads to the end even when the client has gone: an unread pipe would stop the command. */
async function pump(
  source: Readable,
  stream: 'stdout' | 'stderr',
  output: ClientOutput,
  isWanted: boolean,
): Promise<void> {
  let isOpen = isWanted;
  for await (const chunk of source) {
    // A process's stream without an encoding yields Buffers.
    isOpen &&= await output.write(stream, chunk as Buffer);
  }
}

/** Feeds the client's input to the command; resolves only when the client sent the detach keys. */
async function untilDetached(instance: ExecInstance, socket: Duplex, process: ExecProcess): Promise<void> {
  const { stdin } = process;
  if (stdin === null) {
    // Read on, so that the end of the connection is noticed.
    socket.resume();
    return never();
  }
  stdin.on('error', () => {
    // The command closed its input (EPIPE): the client's further input has no reader, which is no error of ours.
  });
  const end = await pumpClientInput(socket, {
    write: async (data) => {
      if (!stdin.destroyed && !stdin.write(data)) {
        await Promise.race([once(stdin, 'drain'), once(stdin, 'close')]);
      }
    },
    ...(instance.process.terminal && { detachKeys: instance.detachKeys }),
  });
  if (end !== 'detached') {
    stdin.end();
    return never();
  }
  instance.target.note(execEvent(instance, 'exec_detach'));
}

/** The end of the input is not the end of the conversation. */
function never(): Promise<void> {
  return new Promise(() => undefined);
}
