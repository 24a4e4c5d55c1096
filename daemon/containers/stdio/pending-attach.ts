import type { StdioChannel } from '../ports.ts';

/** A client that attached to a container that is not running yet: it gets its channel before the first instruction. */
export class PendingAttach {
  /** The channel once the container is created; undefined when there will be none. */
  readonly channel: Promise<StdioChannel | undefined>;
  /** This client writes. */
  readonly stdin: boolean;
  #settle!: (channel: StdioChannel | undefined) => void;
  #isOver = false;

  constructor(options: { stdin: boolean }) {
    this.stdin = options.stdin;
    this.channel = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** Hands over the channel; closes it at once when the client left meanwhile. */
  connect(channel: StdioChannel): void {
    if (this.#isOver) {
      channel.close();
    }
    this.#isOver = true;
    this.#settle(channel);
  }

  /** The client left, or the container was removed. */
  cancel(): void {
    this.#isOver = true;
    this.#settle(undefined);
  }
}
