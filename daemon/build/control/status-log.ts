import type { BuildUpdate } from '../../../api/types/build/status.ts';

/** All that a build has reported, for any number of readers, each from the beginning. Bounded by who writes. */
export class StatusLog {
  readonly #updates: BuildUpdate[] = [];
  #isOver = false;
  #waiting: (() => void)[] = [];

  add(update: Partial<BuildUpdate>): void {
    this.#updates.push({ vertexes: [], statuses: [], logs: [], warnings: [], ...update });
    this.#wake();
  }

  /** So far. */
  get updates(): readonly BuildUpdate[] {
    return this.#updates;
  }

  /** Nothing more comes. */
  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  /** Ends with the log, or when `signal` fires. What has gathered comes together. */
  async *read(signal: AbortSignal): AsyncGenerator<BuildUpdate> {
    const wake = (): void => this.#wake();
    signal.addEventListener('abort', wake);
    try {
      for (let next = 0; !signal.aborted;) {
        if (next < this.#updates.length) {
          const fresh = this.#updates.slice(next);
          next += fresh.length;
          yield merged(fresh);
        } else if (this.#isOver) {
          return;
        } else {
          await new Promise<void>((resolve) => this.#waiting.push(resolve));
        }
      }
    } finally {
      signal.removeEventListener('abort', wake);
    }
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    waiting.forEach((resolve) => resolve());
  }
}

/** Several as one. Pure. */
export function merged(updates: readonly BuildUpdate[]): BuildUpdate {
  return {
    vertexes: updates.flatMap(({ vertexes }) => vertexes),
    statuses: updates.flatMap(({ statuses }) => statuses),
    logs: updates.flatMap(({ logs }) => logs),
    warnings: updates.flatMap(({ warnings }) => warnings),
  };
}
