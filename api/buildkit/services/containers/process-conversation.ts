import type { BuildProcess } from '../../../types/build/containers.ts';
import type { Sparse } from '../../../../daemon/base/wire/protobuf.ts';
import { invalidArgument } from '../../../../daemon/base/errors.ts';
import { parseSignal } from '../../../../daemon/base/signals.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import type { ExecMessage, FileMessage } from '../../proto/containers.ts';
import { buildkitStatus, exitDetail } from '../errors.ts';
import { UNKNOWN } from '../../rpc/status.ts';

/** What clients take for `nobody knows`. */
const UNKNOWN_EXIT_CODE = 255;

/** What a message that waits takes, however little it carries. */
const MESSAGE_BYTES = 512;

interface ConversationDeps {
  /** Descriptors that the client has an end of. */
  fds: readonly number[];
  start: () => Promise<BuildProcess>;
  send: (message: Sparse<Omit<ExecMessage, 'processId'>>) => Promise<void>;
}

/**
 * A client's conversation with one process: started, output, exit, done. What keeps the process from its start is told
 * as its exit. What the client sends meanwhile waits.
 */
export class ProcessConversation {
  /** Resolves when the client has been told of the end. Rejects where it cannot be told. */
  readonly over: Promise<void>;
  readonly #deps: ConversationDeps;
  readonly #process: Promise<BuildProcess>;
  #input: Promise<void> = Promise.resolve();
  /** Of what the process has not taken yet, with what each message takes besides. */
  #inputBytes = 0;
  /** Sizes and signals, which do not wait for what is read. */
  #control: Promise<void> = Promise.resolve();
  #controls = 0;
  #hasInput: boolean;

  constructor(deps: ConversationDeps) {
    this.#deps = deps;
    this.#hasInput = deps.fds.includes(0);
    this.#process = deps.start();
    this.#process.catch(() => undefined /* told as its exit */);
    this.over = this.#converse();
    this.over.catch(() => undefined /* the client has gone, and its stream ends */);
  }

  /** Input. Resolves when more may come. Throws invalid_argument where the process has none. */
  async take({ fd, eof, data }: FileMessage): Promise<void> {
    if (fd !== 0 || !this.#hasInput) {
      throw invalidArgument(`fd ${fd} unavailable to write`);
    }
    if (data.length > 0) {
      const bytes = data.length + MESSAGE_BYTES;
      this.#inputBytes += bytes;
      this.#after(
        async (process) => await process.write(data),
        () => (this.#inputBytes -= bytes),
      );
    }
    if (eof) {
      this.endInput();
    }
    if (this.#inputBytes > limits.buildProcessInputBytesMax) {
      await this.#orOver(this.#input);
    }
  }

  endInput(): void {
    if (this.#hasInput) {
      this.#hasInput = false;
      this.#after((process) => process.endInput());
    }
  }

  /** Resolves when more may come. */
  async resize(size: { height: number; width: number }): Promise<void> {
    await this.#steer((process) => process.resize(size));
  }

  /** The same. Throws invalid_argument for what is no signal. */
  async signal(name: string): Promise<void> {
    parseSignal(name);
    await this.#steer((process) => process.signal(name));
  }

  /** Kills it, unless it has ended. */
  async end(): Promise<void> {
    const process = await this.#process.catch(() => undefined /* told as its exit */);
    await process?.end();
  }

  /** In the order in which it was sent. `done` is called in any case. */
  #after(step: (process: BuildProcess) => Promise<void> | void, done?: () => void): void {
    this.#input = this.#input.then(async () => await this.#told(step)).finally(done);
  }

  async #steer(step: (process: BuildProcess) => Promise<void>): Promise<void> {
    this.#controls += 1;
    this.#control = this.#control
      .then(async () => await this.#told(step))
      .finally(() => (this.#controls -= 1));
    if (this.#controls > limits.buildProcessControlsMax) {
      await this.#orOver(this.#control);
    }
  }

  async #orOver(work: Promise<void>): Promise<void> {
    await Promise.race([work, this.over.catch(() => undefined /* its stream ends */)]);
  }

  /** A process that is not there, or has ended, is told as its exit alone. */
  async #told(step: (process: BuildProcess) => Promise<void> | void): Promise<void> {
    try {
      await step(await this.#process);
    } catch {
      // See above.
    }
  }

  async #converse(): Promise<void> {
    const { fds, send } = this.#deps;
    const exit = await this.#untilExit();
    for (const fd of fds.filter((each) => each === 1 || each === 2)) {
      await send({ file: { fd, eof: true } });
    }
    await send({ exit });
    await send({ done: {} });
  }

  async #untilExit(): Promise<SentExit> {
    const { fds, send } = this.#deps;
    try {
      const process = await this.#process;
      await send({ started: {} });
      const output = process.output(async (fd, data) => {
        if (fds.includes(fd)) {
          await send({ file: { fd, data } });
        }
      });
      const [code] = await Promise.all([process.exited, output]);
      return exitOf(code);
    } catch (error) {
      await this.#startedAnyway();
      const { code, message, details } = buildkitStatus(error);
      return { code: UNKNOWN_EXIT_CODE, error: { code, message, details: [...details] } };
    }
  }

  /** Clients read of nothing else before it. */
  async #startedAnyway(): Promise<void> {
    const hasStarted = await this.#process.then(
      () => true,
      () => false,
    );
    await (hasStarted ? undefined : this.#deps.send({ started: {} }));
  }
}

type SentExit = Sparse<NonNullable<ExecMessage['exit']>>;

/** With the code in an error, too: clients throw that. */
function exitOf(code: number): SentExit {
  return code === 0
    ? { code }
    : { code, error: { code: UNKNOWN, message: `exit code: ${code}`, details: [exitDetail(code)] } };
}
