import { existsSync } from 'node:fs';
import type { AttachOptions, Conversation } from '../../../api/types/ports.ts';
import { isLogDiskFull } from '../../../storage/logs/room.ts';
import { openLog } from '../../../storage/logs/reader.ts';
import type { LogReadOptions } from '../../../storage/logs/reader.ts';
import type { OutputChunk } from '../../../runtime/monitor/conmon-stdio.ts';
import { withTimeout } from '../../base/concurrency/timeout.ts';
import { conflict } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { ClientOutput } from '../../base/stdio/client-output.ts';
import { pumpClientInput } from '../../base/stdio/client-input.ts';
import { parseDetachKeys } from '../../base/stdio/detach-keys.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { containerEvent } from '../state/events.ts';
import { isReadBack, refuseUnreadable } from './logs.ts';
import { containerFiles } from '../resources/container-files.ts';
import { RefusedOutput } from '../stdio/refused-output.ts';
import { leaveRun } from '../stdio/pending-attach.ts';
import type { PendingAttach } from '../stdio/pending-attach.ts';
import { isLive, isRestarting } from '../state/state-facts.ts';
import { closeAttachSlot, openAttachSlot } from '../stdio/attach-slot.ts';
import type { Duplex } from 'node:stream';

/**
 * Connects a client to a container's stdio: to the run that goes on, else to the next one, of which it misses nothing.
 * The output is read from the log as it grows, with `logs` from its beginning and at once, where it can be read back:
 * no byte is lost or doubled between what was and what comes, and a client that does not read holds nothing up.
 *
 * The conversation ends with the run. The end of the client's input ends it too, as with dockerd, but where the
 * container is to read that end (`StdinOnce`, no terminal): then the run goes on to its own.
 */
export async function attachContainer(
  context: ContainerContext,
  ref: string,
  options: AttachOptions,
): Promise<Conversation> {
  const container = context.registry.find(ref);
  refuseAttach(container, ref);
  if (options.logs && !options.stream) {
    refuseUnreadable(container);
  }
  const detachKeys = parseDetachKeys(options.detachKeys);
  const slot = options.stream
    ? await openAttachSlot(context, container, {
        stdin: options.stdin,
        fromBeginning: options.logs && isReadBack(container),
      })
    : undefined;
  context.machine.noteEvent(containerEvent(container, 'attach'));
  const attachment = new Attachment(context, container, options, { detachKeys, slot });
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
  if (isRestarting(container.state)) {
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
  readonly #slot: PendingAttach | undefined;
  /** The container ran when the client came. */
  readonly #joinedRunning: boolean;
  readonly #over = new AbortController();

  constructor(
    context: ContainerContext,
    container: Container,
    options: AttachOptions,
    client: { detachKeys: readonly number[]; slot: PendingAttach | undefined },
  ) {
    this.#context = context;
    this.#container = container;
    this.#options = options;
    this.#detachKeys = client.detachKeys;
    this.#slot = client.slot;
    this.#joinedRunning = isLive(container.state);
  }

  /** Never rejects: what goes wrong with one client is logged and ends its conversation. */
  async converse(socket: Duplex): Promise<void> {
    const output = new ClientOutput(socket, { tty: this.#isRaw() });
    output.gone.addEventListener('abort', () => this.leave(), { once: true });
    try {
      await this.#converse(socket, output);
    } catch (error) {
      this.#endedEarly(error);
    } finally {
      await output.end();
      this.leave();
      // The client may keep its side open for ever; nothing is read from it any more.
      socket.resume();
    }
  }

  readonly #endedEarly = (error: unknown): void => {
    this.#context.log.warn({ container: this.#container.id, err: error }, 'attach ended early');
  };

  /** Gives back the slot and the run. Safe to call more than once. */
  leave(): void {
    this.#over.abort();
    if (this.#slot !== undefined && !this.#slot.outlivesClient) {
      closeAttachSlot(this.#container, this.#slot);
      void this.#leaveRun(this.#slot).catch(this.#endedEarly);
    }
  }

  async #leaveRun(slot: PendingAttach): Promise<void> {
    const run = await slot.run;
    if (run !== undefined) {
      leaveRun(run);
    }
  }

  async #converse(socket: Duplex, output: ClientOutput): Promise<void> {
    const slot = this.#slot;
    if (slot === undefined) {
      if (this.#options.logs) {
        await this.#log(output, {});
      }
      return;
    }
    let input = Promise.resolve();
    if (slot.stdin) {
      input = this.#input(socket, slot).catch(this.#endedEarly);
    } else {
      // Read on, so that the end of the connection is noticed.
      socket.resume();
    }
    if (this.#options.stdout || this.#options.stderr) {
      await this.#output(slot, output);
      return;
    }
    void this.#live(slot).catch(this.#endedEarly);
    await Promise.race([input, slot.over]);
    if (this.#endsItsInput() && this.#joinedRunning) {
      await slot.over;
    }
  }

  /** What the container writes, to its end. */
  async #output(slot: PendingAttach, output: ClientOutput): Promise<void> {
    const { id, spec } = this.#container;
    if (spec.logDriver === 'none') {
      await this.#live(slot, ({ stream, data }) => output.write(stream, data));
      return;
    }
    // The channel's output is always read: unread it would hold up the monitor.
    const beside = this.#refusedOutput();
    const live = this.#live(slot, (chunk) => beside.take(chunk)).catch(this.#endedEarly);
    if (slot.logFrom !== undefined || !existsSync(containerFiles(this.#context.dataRoot, id).log)) {
      // Nothing of before is asked for, or there is nothing.
      await slot.run;
    }
    await this.#log(output, {
      ...(slot.logFrom !== undefined && { from: slot.logFrom }),
      follow: { ended: this.#outputEnds(slot, { beside, live }), beside },
    });
  }

  #refusedOutput(): RefusedOutput {
    const { dataRoot, clock } = this.#context;
    const path = containerFiles(dataRoot, this.#container.id).log;
    return new RefusedOutput({
      ...this.#wanted(),
      tty: this.#isRaw(),
      isDiskFull: () => isLogDiskFull(path),
      monotonicMs: () => clock.monotonicMs(),
    });
  }

  /** What the log did not take may come by the channel a moment after the end of the run is known. */
  async #outputEnds(
    slot: PendingAttach,
    { beside, live }: { beside: RefusedOutput; live: Promise<void> },
  ): Promise<void> {
    await slot.over;
    if (beside.hasRefused) {
      await withTimeout(this.#context.clock, live, limits.attachDeliveryMs);
    }
  }

  #wanted(): { stdout: boolean; stderr: boolean } {
    return { stdout: this.#options.stdout, stderr: this.#options.stderr };
  }

  /**
   * Hands output from the channel to `sink`, until that says false; without one it is dropped. Never rejects.
   */
  async #live(slot: PendingAttach, sink?: (chunk: OutputChunk) => Promise<boolean> | void): Promise<void> {
    const wanted = this.#wanted();
    const run = await slot.run;
    for await (const chunk of run?.channel?.output ?? []) {
      if (wanted[chunk.stream] && (await sink?.(chunk)) === false) {
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

  /** Resolves when the client has ended its input, detached or gone. Never rejects. */
  async #input(socket: Duplex, slot: PendingAttach): Promise<void> {
    let hasWritten = false;
    const end = await pumpClientInput(socket, {
      // Before the start it waits, and the client with it.
      write: async (data) => {
        hasWritten = true;
        const run = await slot.run;
        await run?.channel?.write(data);
      },
      ...(this.#container.spec.config.Tty && { detachKeys: this.#detachKeys }),
    });
    if (end === 'detached') {
      this.#context.machine.noteEvent(containerEvent(this.#container, 'detach'));
      this.leave();
    } else if (end === 'end' && !this.#endsItsInput()) {
      this.leave();
    } else if (end === 'end') {
      const isServed = !hasWritten && !this.#options.stdout && !this.#options.stderr;
      const ended = this.#endInput(slot, isServed && !this.#joinedRunning);
      await (slot.outlivesClient ? undefined : ended);
    }
  }

  /** A client that is served before the run comes is let go, as with dockerd: one slot waits in its place. */
  async #endInput(slot: PendingAttach, isServed: boolean): Promise<void> {
    const others = [...this.#container.pendingAttaches];
    slot.outlivesClient = isServed && !others.some(({ outlivesClient }) => outlivesClient);
    const run = await slot.run;
    run?.channel?.endInput();
    if (slot.outlivesClient) {
      slot.outlivesClient = false;
      this.leave();
    }
  }

  /** The end of the client's input is the end of the container's (moby container/stream/attach.go: CloseStdin). */
  #endsItsInput(): boolean {
    const { StdinOnce, Tty } = this.#container.spec.config;
    return StdinOnce === true && Tty !== true;
  }
}

/** Sets the size of the container's terminal, in characters. Throws conflict when it does not run. */
export async function resizeContainer(
  context: ContainerContext,
  ref: string,
  { height, width }: { height: number; width: number },
): Promise<void> {
  const container = context.registry.find(ref);
  if (!isLive(container.state)) {
    throw conflict(`Container ${container.id} is not running`);
  }
  await context.runtime.resize(container.id, height, width);
  context.machine.noteEvent(
    containerEvent(container, 'resize', { height: String(height), width: String(width) }),
  );
}
