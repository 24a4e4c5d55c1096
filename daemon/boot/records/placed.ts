import type { OtherManagers, RecordsGuest, RecordsPlace } from '../../../swarm/records/ports.ts';
import type { Clock } from '../../base/clock.ts';
import { KeyedMutex } from '../../base/concurrency/mutex.ts';
import { pause } from '../../base/concurrency/pause.ts';
import { withTimeout } from '../../base/concurrency/timeout.ts';
import { errorText } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import { standingOf, type Membership, type Standing } from './standing.ts';

/** A part of the engine over the records of one place, until it is closed. */
export interface OpenPart {
  /** Resolves when it changes nothing any more, and is gone. */
  close(): Promise<void>;
}

export interface PlacedDeps<Part extends OpenPart, Sets> {
  clock: Clock;
  log: Logger;
  /** For messages: `the hub`. */
  title: string;
  /** Of this node in its swarm; undefined outside of one. */
  membership: () => Membership | undefined;
  /** What it keeps in a swarm, by its names there. */
  setsOf(place: RecordsPlace): Sets;
  overHost(): Promise<Part>;
  overSwarm(place: RecordsPlace, sets: Sets): Promise<Part>;
  /** This host leaves a swarm in which nobody else may have the records: takes them out. */
  takeOut(place: RecordsPlace, sets: Sets, others: OtherManagers): Promise<void>;
}

/**
 * Where a part of the engine has its records: on this host, or in the swarm that the host is a manager of. A change of
 * the place ends the part, takes the records along where they go with it, and opens another one. Requests that come
 * meanwhile wait.
 */
export class Placed<Part extends OpenPart, Sets> implements RecordsGuest, AsyncDisposable {
  readonly #deps: PlacedDeps<Part, Sets>;
  readonly #turns = new KeyedMutex();
  #isStarted = false;
  #place: RecordsPlace | undefined;
  #sets: Sets | undefined;
  #isLeaving = false;
  #isClosed = false;
  /** What is to be, and is once no turn is under way. */
  #wanted: Standing | undefined;
  #stop = new AbortController();
  #current: Part | undefined;
  /** Ends with the move that is under way. */
  #moving: Promise<void> = Promise.resolve();
  #trouble = '';
  readonly #listeners: (() => void)[] = [];

  constructor(deps: PlacedDeps<Part, Sets>) {
    this.#deps = deps;
  }

  /** Opens the part where its records are. Where that is this host, throws what keeps it from being opened. */
  async start(): Promise<void> {
    this.#isStarted = true;
    this.changed();
    if (this.#wanted?.kind === 'host') {
      await this.#moving;
      if (this.#current === undefined && this.#trouble !== '') {
        throw new Error(this.#trouble);
      }
    }
  }

  /** Undefined while there is none. */
  get current(): Part | undefined {
    return this.#current;
  }

  /** Other hosts have the same records. */
  get isShared(): boolean {
    return this.#wanted?.kind === 'swarm';
  }

  /** Calls back whenever the part was opened. */
  whenOpened(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** The part once no move is under way, or undefined where there is none then, or it takes too long. */
  async settled(): Promise<Part | undefined> {
    await withTimeout(this.#deps.clock, this.#moved(), limits.hubPlaceWaitMs);
    return this.#current;
  }

  opened(place: RecordsPlace): void {
    this.#place = place;
    this.#sets = this.#deps.setsOf(place);
    this.changed();
  }

  async leaving(others: OtherManagers): Promise<void> {
    const [place, sets] = [this.#place, this.#sets];
    if (place === undefined || sets === undefined) {
      return;
    }
    this.#isLeaving = true;
    try {
      await this.#stopped(async () => {
        if (others !== 'some') {
          await this.#deps.takeOut(place, sets, others);
        }
      });
    } catch (error) {
      this.#isLeaving = false;
      this.changed();
      throw error;
    }
  }

  async closed(): Promise<void> {
    this.#place = undefined;
    this.#sets = undefined;
    this.#isLeaving = false;
    await this.#stopped(() => Promise.resolve());
    this.changed();
  }

  changed(): void {
    if (!this.#isStarted || this.#isClosed || this.#isLeaving) {
      return;
    }
    const wanted = standingOf(this.#place, this.#deps.membership(), this.#deps.title);
    if (wanted.kind === this.#wanted?.kind && wanted.place === this.#wanted.place) {
      this.#wanted = wanted;
      return;
    }
    this.#wanted = wanted;
    this.#stop.abort();
    const stop = new AbortController();
    this.#stop = stop;
    this.#moving = this.#turns.run('', () => this.#go(wanted, stop.signal));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#stop.abort();
    await this.#turns.run('', () => this.#close());
  }

  /** Why there is none. */
  get reason(): string {
    const { title } = this.#deps;
    const wanted = this.#wanted;
    if (wanted?.kind === 'away') {
      return wanted.reason;
    }
    return `${title} is not ready${this.#trouble === '' ? ': its records go to another place' : `: ${this.#trouble}`}`;
  }

  /** No move is under way any more, nor is one about to begin. */
  async #moved(): Promise<void> {
    for (let moving: Promise<void> | undefined; moving !== this.#moving;) {
      moving = this.#moving;
      await moving;
      // What ended the part says next where it goes on.
      await new Promise(setImmediate);
    }
  }

  /** Ends the part, does what is to be done without one, and leaves it to `changed` to open the next. */
  #stopped(act: () => Promise<void>): Promise<void> {
    this.#wanted = undefined;
    this.#stop.abort();
    const stopped = this.#turns.run('', async () => {
      await this.#close();
      await act();
    });
    // Whoever asked for it is told; requests only wait for its end.
    this.#moving = stopped.catch(() => undefined);
    return stopped;
  }

  /** Never rejects. */
  async #go(wanted: Standing, signal: AbortSignal): Promise<void> {
    const { clock, log, title } = this.#deps;
    await this.#close();
    for (this.#trouble = ''; !signal.aborted && wanted.kind !== 'away';) {
      try {
        this.#current = await this.#open(wanted);
        this.#trouble = '';
        this.#listeners.forEach((listener) => listener());
        return;
      } catch (error) {
        this.#trouble = errorText(error);
        log.warn({ reason: this.#trouble }, `${title} could not be opened where its records are`);
        if (wanted.kind === 'host') {
          return;
        }
      }
      await pause(clock, limits.hubPlaceRetryMs, signal);
    }
  }

  async #open(wanted: Standing): Promise<Part | undefined> {
    if (wanted.kind === 'host') {
      return await this.#deps.overHost();
    }
    const sets = this.#sets;
    return wanted.kind === 'swarm' && sets !== undefined
      ? await this.#deps.overSwarm(wanted.place, sets)
      : undefined;
  }

  async #close(): Promise<void> {
    const current = this.#current;
    this.#current = undefined;
    await current?.close();
  }
}
