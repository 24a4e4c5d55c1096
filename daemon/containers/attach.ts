import type { AttachOptions, Conversation } from '../../api/ports.ts';
import { openLog } from '../../storage/logs/reader.ts';
import { conflict, notImplemented } from '../base/errors.ts';
import { ClientOutput } from '../base/stdio/client-output.ts';
import { pumpClientInput } from '../base/stdio/client-input.ts';
import { parseDetachKeys } from '../base/stdio/detach-keys.ts';
import type { Container } from './container.ts';
import type { ContainerContext } from './context.ts';
import { containerEvent } from './events.ts';
import { containerFiles } from './paths.ts';
import type { StdioChannel } from './ports.ts';
import { isLive } from './state-facts.ts';
import { PendingAttach } from './stdio/pending-attach.ts';
import type { Duplex } from 'node:stream';

/**
 * Connects a client to a container's stdio. Before the start it waits for it and misses nothing; with `logs` the
 * output is read from the log, from its beginning and, with `stream`, on to its end: nothing is lost or doubled
 * between what was and what comes.
 */
export async function attachContainer(
  context: ContainerContext,
  ref: string,
  options: AttachOptions,
): Promise<Conversation> {
  const container = context.registry.find(ref);
  refuseAttach(container, ref);
  if (options.logs && container.spec.logDriver === 'none') {
    throw notImplemented('configured logging driver does not support reading');
  }
  const detachKeys = parseDetachKeys(options.detachKeys);
  const seat = new PendingAttach({ stdin: options.stdin && (container.spec.config.OpenStdin ?? false) });
  if (options.stream) {
    await takeSeat(context, container, seat);
  } else {
    seat.cancel();
  }
  context.machine.record(containerEvent(container, 'attach'));
  const attachment = new Attachment(context, container, options, detachKeys, seat);
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

/** A place at the container's stdio: now when it runs, else at its next start. */
async function takeSeat(
  context: ContainerContext,
  container: Container,
  seat: PendingAttach,
): Promise<void> {
  if (isLive(container.state)) {
    seat.connect(await context.runtime.attach(container.id, { stdin: seat.stdin }));
  } else {
    container.pendingAttaches.add(seat);
  }
}

/** One client's conversation with a container. */
class Attachment {
  readonly #context: ContainerContext;
  readonly #container: Container;
  readonly #options: AttachOptions;
  readonly #detachKeys: readonly number[];
  readonly #seat: PendingAttach;
  readonly #over = new AbortController();

  constructor(
    context: ContainerContext,
    container: Container,
    options: AttachOptions,
    detachKeys: readonly number[],
    seat: PendingAttach,
  ) {
    this.#context = context;
    this.#container = container;
    this.#options = options;
    this.#detachKeys = detachKeys;
    this.#seat = seat;
  }

  /** Never rejects: what goes wrong with one client is logged and ends its conversation. */
  async converse(socket: Duplex): Promise<void> {
    const output = new ClientOutput(socket, { tty: this.#container.spec.config.Tty ?? false });
    output.gone.addEventListener('abort', () => this.leave(), { once: true });
    try {
      if (this.#options.logs && !this.#options.stream) {
        await this.#replay(output, undefined);
        return;
      }
      const channel = await this.#seat.channel;
      if (channel !== undefined) {
        void this.#input(socket, channel);
        await this.#output(output, channel);
      }
    } catch (error) {
      this.#context.log.warn({ container: this.#container.id, err: error }, 'attach ended early');
    } finally {
      await output.end();
      this.leave();
      // The client may keep its side open for ever; nothing is read from it any more.
      socket.resume();
    }
  }

  /** Gives back the seat and the channel. Safe to call more than once. */
  leave(): void {
    this.#over.abort();
    this.#container.pendingAttaches.delete(this.#seat);
    this.#seat.cancel();
    void this.#seat.channel.then((channel) => channel?.close());
  }

  async #output(output: ClientOutput, channel: StdioChannel): Promise<void> {
    if (this.#options.logs) {
      // The channel is still drained: an unread one would hold up the monitor.
      await Promise.all([this.#live(output, channel, false), this.#replay(output, this.#runOver())]);
    } else {
      await this.#live(output, channel, true);
    }
  }

  async #live(output: ClientOutput, channel: StdioChannel, isShown: boolean): Promise<void> {
    const wanted = { stdout: this.#options.stdout, stderr: this.#options.stderr };
    for await (const { stream, data } of channel.output) {
      if (isShown && wanted[stream] && !(await output.write(stream, data))) {
        return;
      }
      if (this.#over.signal.aborted) {
        return;
      }
    }
  }

  async #replay(output: ClientOutput, ended: Promise<unknown> | undefined): Promise<void> {
    const { stdout, stderr } = this.#options;
    const log = openLog(containerFiles(this.#context.dataRoot, this.#container.id).log, {
      stdout,
      stderr,
      timestamps: false,
      tty: this.#container.spec.config.Tty ?? false,
      ...(ended && { follow: { ended } }),
      signal: this.#over.signal,
    });
    for await (const chunk of log) {
      // The reader yields Buffers: it is not in object mode and has no encoding.
      if (!(await output.raw(chunk as Buffer))) {
        return;
      }
    }
  }

  #runOver(): Promise<unknown> {
    const { waiters } = this.#context;
    const wait = waiters.wait(this.#container.id, this.#container.state, 'not-running');
    this.#over.signal.addEventListener('abort', () => wait.cancel(), { once: true });
    return wait.done;
  }

  async #input(socket: Duplex, channel: StdioChannel): Promise<void> {
    if (!this.#seat.stdin) {
      // Read on, so that the end of the connection is noticed.
      socket.resume();
      return;
    }
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
