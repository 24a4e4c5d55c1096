import type { AttachOptions, Conversation } from '../../api/types/ports.ts';
import { openLog } from '../../storage/logs/reader.ts';
import type { LogReadOptions } from '../../storage/logs/reader.ts';
import { conflict } from '../base/errors.ts';
import { ClientOutput } from '../base/stdio/client-output.ts';
import { pumpClientInput } from '../base/stdio/client-input.ts';
import { parseDetachKeys } from '../base/stdio/detach-keys.ts';
import type { Container } from './container.ts';
import type { ContainerContext } from './context.ts';
import { containerEvent } from './events.ts';
import { refuseUnreadable } from './logs.ts';
import { containerFiles } from './paths.ts';
import type { StdioChannel } from './ports.ts';
import { leaveRun } from './stdio/pending-attach.ts';
import type { AttachedRun, PendingAttach } from './stdio/pending-attach.ts';
import { takeSeat } from './stdio/seat.ts';
import type { Duplex } from 'node:stream';

/**
 * Connects a client to a container's stdio. Before the start it waits for it and misses nothing. The output is read
 * from the log as it grows, with `logs` from its beginning: no byte is lost or doubled between what was and what
 * comes, and a client that does not read holds up nobody.
 */
export async function attachContainer(
  context: ContainerContext,
  ref: string,
  options: AttachOptions,
): Promise<Conversation> {
  const container = context.registry.find(ref);
  refuseAttach(container, ref);
  if (options.logs) {
    refuseUnreadable(container);
  }
  const detachKeys = parseDetachKeys(options.detachKeys);
  const seat = options.stream
    ? await takeSeat(context, container, { stdin: options.stdin, fromBeginning: options.logs })
    : undefined;
  context.machine.record(containerEvent(container, 'attach'));
  const attachment = new Attachment(context, container, options, { detachKeys, seat });
  return {
    tty: container.spec.config.Tty ?? false,
    connect: (socket) => attachment.converse(socket),
    abandon: () => attachment.leave(),
  };
}

function refuseAttach(container: Container, ref: string): void {
  if (container.state.status === 'paused') {
    throw conflict(`container ${ref} is paused, unpause the container before attach`);
  }
  if (container.state.status === 'restarting') {
    throw conflict(`container ${ref} is restarting, wait until the container is running`);
  }
}

/** One client's conversation with a container. */
class Attachment {
  readonly #context: ContainerContext;
  readonly #container: Container;
  readonly #options: AttachOptions;
  readonly #detachKeys: readonly number[];
  /** Undefined without `stream`. */
  readonly #seat: PendingAttach | undefined;
  readonly #over = new AbortController();

  constructor(
    context: ContainerContext,
    container: Container,
    options: AttachOptions,
    client: { detachKeys: readonly number[]; seat: PendingAttach | undefined },
  ) {
    this.#context = context;
    this.#container = container;
    this.#options = options;
    this.#detachKeys = client.detachKeys;
    this.#seat = client.seat;
  }

  /** Never rejects: what goes wrong with one client is logged and ends its conversation. */
  async converse(socket: Duplex): Promise<void> {
    const output = new ClientOutput(socket, { tty: this.#isRaw() });
    output.gone.addEventListener('abort', () => this.leave(), { once: true });
    try {
      await this.#converse(socket, output);
    } catch (error) {
      this.#context.log.warn({ container: this.#container.id, err: error }, 'attach ended early');
    } finally {
      await output.end();
      this.leave();
      // The client may keep its side open for ever; nothing is read from it any more.
      socket.resume();
    }
  }

  /** Gives back the seat and the run. Safe to call more than once. */
  leave(): void {
    this.#over.abort();
    if (this.#seat !== undefined) {
      this.#container.pendingAttaches.delete(this.#seat);
      this.#seat.cancel();
      void this.#leaveRun(this.#seat);
    }
  }

  async #leaveRun(seat: PendingAttach): Promise<void> {
    const run = await seat.run;
    if (run !== undefined) {
      leaveRun(run);
    }
  }

  async #converse(socket: Duplex, output: ClientOutput): Promise<void> {
    if (this.#seat === undefined) {
      if (this.#options.logs) {
        await this.#log(output, {});
      }
      return;
    }
    if (!this.#seat.stdin) {
      // Read on, so that the end of the connection is noticed.
      socket.resume();
    }
    const run = await this.#seat.run;
    if (run === undefined) {
      return;
    }
    if (run.channel !== undefined && this.#seat.stdin) {
      void this.#input(socket, run.channel);
    }
    if (this.#container.spec.logDriver === 'none') {
      await this.#live(run, output);
      return;
    }
    // Nobody reads this channel's output; unread it would hold up the monitor.
    void this.#live(run, undefined);
    await this.#log(output, {
      ...(run.logFrom !== undefined && { from: run.logFrom }),
      follow: { ended: run.over.done },
    });
  }

  /** Output from the channel: to the client, or nowhere. */
  async #live({ channel }: AttachedRun, output: ClientOutput | undefined): Promise<void> {
    const wanted = { stdout: this.#options.stdout, stderr: this.#options.stderr };
    for await (const { stream, data } of channel?.output ?? []) {
      if (output !== undefined && wanted[stream] && !(await output.write(stream, data))) {
        return;
      }
    }
  }

  async #log(output: ClientOutput, range: Pick<LogReadOptions, 'from' | 'follow'>): Promise<void> {
    const { stdout, stderr } = this.#options;
    const log = openLog(containerFiles(this.#context.dataRoot, this.#container.id).log, {
      stdout,
      stderr,
      timestamps: false,
      tty: this.#isRaw(),
      ...range,
      signal: this.#over.signal,
    });
    for await (const chunk of log) {
      // The reader yields Buffers: it is not in object mode and has no encoding.
      if (!(await output.raw(chunk as Buffer))) {
        return;
      }
    }
  }

  #isRaw(): boolean {
    return this.#container.spec.config.Tty === true || this.#options.unframed === true;
  }

  async #input(socket: Duplex, channel: StdioChannel): Promise<void> {
    const end = await pumpClientInput(socket, {
      write: (data) => channel.write(data),
      ...(this.#container.spec.config.Tty && { detachKeys: this.#detachKeys }),
    });
    if (end === 'detached') {
      this.#context.machine.record(containerEvent(this.#container, 'detach'));
      this.leave();
    } else if (end === 'end') {
      channel.endInput();
    }
  }
}
