import type { LogPosition } from '../../../storage/logs/segments.ts';
import type { StdioChannel } from './process-streams.ts';
import type { Wait } from '../state/waiters.ts';

/** A client's connection to one run of a container. */
export interface AttachedRun {
  /** For its input, and for its output where no log is kept. */
  channel: StdioChannel | undefined;
  /** The end of the run, registered before the run could end. */
  over: Wait;
}

/** A client's place at a container: taken when it attaches, connected now or at the next start. */
export class PendingAttach {
  /** The run once there is one; undefined when there will be none. */
  readonly run: Promise<AttachedRun | undefined>;
  /** Resolves when that run is over, or when there will be none. */
  readonly over: Promise<void>;
  /** Resolves when the client has all it is owed, or is gone. */
  readonly left: Promise<void>;
  /** This client writes. */
  readonly stdin: boolean;
  /** Where its output begins in the log; undefined = at the oldest that is kept. */
  readonly logFrom: LogPosition | undefined;
  /** The client has gone: its slot stays to bring the run the end of its input. */
  outlivesClient = false;
  #settle!: (run: AttachedRun | undefined) => void;
  #leave!: () => void;
  #isOver = false;

  constructor(options: { stdin: boolean; logFrom: LogPosition | undefined }) {
    this.stdin = options.stdin;
    this.logFrom = options.logFrom;
    this.run = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.over = endOf(this.run);
    this.left = new Promise((resolve) => {
      this.#leave = resolve;
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

  /** There will be no run: the container was removed, or could not be started. */
  cancel(): void {
    this.#isOver = true;
    this.#settle(undefined);
  }

  /** The client has all it is owed, or is gone. */
  leave(): void {
    this.cancel();
    this.#leave();
  }
}

/** Gives back what a client held of a run. Safe to call more than once. */
export function leaveRun(run: AttachedRun): void {
  run.over.cancel();
  run.channel?.close();
}

async function endOf(pending: Promise<AttachedRun | undefined>): Promise<void> {
  const run = await pending;
  await run?.over.done;
}
