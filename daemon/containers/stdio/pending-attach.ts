import type { LogPosition } from '../../../storage/logs/segments.ts';
import type { StdioChannel } from '../ports.ts';
import type { Wait } from '../waiters.ts';

/** A client's connection to one run of a container. */
export interface AttachedRun {
  /** For its input, and for its output where no log is kept. */
  channel: StdioChannel | undefined;
  /** End of the log when the client attached: its output begins there. Undefined = at the log's beginning. */
  logFrom: LogPosition | undefined;
  /** The end of the run, registered before the run could end. */
  over: Wait;
}

/** A client's place at a container: taken when it attaches, connected now or at the next start. */
export class PendingAttach {
  /** The run once there is one; undefined when there will be none. */
  readonly run: Promise<AttachedRun | undefined>;
  /** This client writes. */
  readonly stdin: boolean;
  /** See `AttachedRun`. */
  readonly logFrom: LogPosition | undefined;
  #settle!: (run: AttachedRun | undefined) => void;
  #isOver = false;

  constructor(options: { stdin: boolean; logFrom: LogPosition | undefined }) {
    this.stdin = options.stdin;
    this.logFrom = options.logFrom;
    this.run = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** Hands over the run; gives it back at once when the client left meanwhile. */
  connect(run: AttachedRun): void {
    if (this.#isOver) {
      leaveRun(run);
    }
    this.#isOver = true;
    this.#settle(run);
  }

  /** The client left, or the container was removed. */
  cancel(): void {
    this.#isOver = true;
    this.#settle(undefined);
  }
}

/** Gives back what a client held of a run. Safe to call more than once. */
export function leaveRun(run: AttachedRun): void {
  run.over.cancel();
  run.channel?.close();
}
