import type { Vertex } from '../graph/op.ts';
import type { UsedSource } from '../graph/used-source.ts';
import type { HeldTree, LogStream, RunContext, VertexWork } from './ports.ts';

/** What one build wants to be told while it waits. */
export interface Passenger {
  session: string;
  started(): void;
  log(stream: LogStream, bytes: Uint8Array): void;
  work(work: VertexWork): void;
  used(source: UsedSource): void;
  /** Undefined: it does not look into what failed. */
  failed?: ((error: unknown) => void) | undefined;
}

export interface Landed<T extends HeldTree> {
  tree: T;
  /** It was there, nothing ran. */
  isCached: boolean;
}

/**
 * One execution for all builds that want its result. It ends when the last of them leaves; each that waits to its end
 * gets the tree held for itself.
 */
export class Flight<T extends HeldTree> {
  readonly #controller = new AbortController();
  readonly #passengers = new Map<Passenger, { land(landed: Landed<T>): void; fail(error: unknown): void }>();
  readonly #logBytesMax: number;
  /** What was said before somebody came: the beginning of it, as for everybody. */
  readonly #said: { stream: LogStream; bytes: Uint8Array }[] = [];
  #saidBytes = 0;
  readonly #used: UsedSource[] = [];
  #isStarted = false;

  constructor(logBytesMax: number) {
    this.#logBytesMax = logBytesMax;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Throws what the execution throws, and the signal's reason as soon as it fires. */
  async join(passenger: Passenger, signal: AbortSignal): Promise<Landed<T>> {
    signal.throwIfAborted();
    return await new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#passengers.delete(passenger);
        reject(signal.reason);
        if (this.#passengers.size === 0) {
          this.#controller.abort(signal.reason);
        }
      };
      signal.addEventListener('abort', leave, { once: true });
      const settled = (): void => signal.removeEventListener('abort', leave);
      this.#passengers.set(passenger, {
        land: (landed) => {
          settled();
          resolve(landed);
        },
        fail: (error) => {
          settled();
          reject(error);
        },
      });
      if (this.#isStarted) {
        passenger.started();
        for (const { stream, bytes } of this.#said) {
          passenger.log(stream, bytes);
        }
        this.#used.forEach((source) => passenger.used(source));
      }
    });
  }

  start(): void {
    this.#isStarted = true;
    for (const passenger of this.#passengers.keys()) {
      passenger.started();
    }
  }

  context(): RunContext {
    return {
      signal: this.signal,
      sessions: () => [...this.#passengers.keys()].map(({ session }) => session),
      isLookedInto: () => [...this.#passengers.keys()].some(({ failed }) => failed !== undefined),
      log: (stream, bytes) => {
        if (this.#saidBytes + bytes.length <= this.#logBytesMax) {
          this.#saidBytes += bytes.length;
          this.#said.push({ stream, bytes });
        }
        for (const passenger of this.#passengers.keys()) {
          passenger.log(stream, bytes);
        }
      },
      work: (work) => {
        for (const passenger of this.#passengers.keys()) {
          passenger.work(work);
        }
      },
      used: (source) => {
        this.#used.push(source);
        for (const passenger of this.#passengers.keys()) {
          passenger.used(source);
        }
      },
    };
  }

  /** Everybody who still waits gets the tree; the caller's own hold is given back. */
  land({ tree, isCached }: Landed<T>): void {
    using _own = tree;
    for (const passenger of this.#passengers.values()) {
      passenger.land({ tree: tree.hold(), isCached });
    }
    this.#passengers.clear();
  }

  /** Everybody who still waits may hold what the error holds; the caller's own hold is given back. */
  fail(error: unknown): void {
    for (const [passenger, waiting] of this.#passengers) {
      passenger.failed?.(error);
      waiting.fail(error);
    }
    this.#passengers.clear();
    if (error instanceof Error && Symbol.dispose in error) {
      // Of those that hold something.
      (error as Error & Disposable)[Symbol.dispose]();
    }
  }
}

/** What a flight does: an operation on inputs that it holds for itself. */
export interface FlightPlan<T extends HeldTree> {
  /** Under which the result is kept. */
  key: string;
  /** Under which other graphs find it whose steps before came to the same; undefined = there is no other such key. */
  sameKey: string | undefined;
  /** Who wants the same at once wants the same of these. */
  flight: string;
  vertex: Vertex;
  /** False: results of earlier builds are not taken. */
  takesCached: boolean;
  inputs: readonly (T | undefined)[];
}
