import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Turns } from '../../base/concurrency/turns.ts';
import type { ContainerSample, HostCpu } from '../../../runtime/cgroups/sample.ts';

/** What was seen of one container at one moment. */
export interface Reading {
  atNano: bigint;
  host: HostCpu;
  /** Undefined while it does not run. */
  sample: ContainerSample | undefined;
}

export interface SamplerDeps<Subject> {
  clock: Clock;
  turns: Turns;
  log: Logger;
  /** Looks at a container now. Synchronous and short. */
  read(subject: Subject): Reading;
}

interface Watched {
  last: Reading;
  lastMs: number;
  readonly subscriptions: Set<Subscription>;
}

/**
 * Samples each container with subscriptions once a second, whatever their number: one timer for all containers, one
 * turn of the event loop for each. Without subscriptions nothing is done.
 */
export class Sampler<Subject> {
  readonly #deps: SamplerDeps<Subject>;
  readonly #watched = new Map<Subject, Watched>();
  #ticking = false;

  constructor(deps: SamplerDeps<Subject>) {
    this.#deps = deps;
  }

  /** One reading, without a subscription. */
  once(subject: Subject): Reading {
    return this.#watched.get(subject) === undefined ? this.#deps.read(subject) : this.#fresh(subject);
  }

  /** Readings from now on; the first is there at once. Dispose it. */
  subscribe(subject: Subject): Subscription {
    const subscription = new Subscription(() => this.#drop(subject, subscription));
    const watched = this.#watched.get(subject);
    if (watched === undefined) {
      const last = this.#deps.read(subject);
      const lastMs = this.#deps.clock.monotonicMs();
      this.#watched.set(subject, { last, lastMs, subscriptions: new Set([subscription]) });
      subscription.push(last);
      this.#start();
    } else {
      watched.subscriptions.add(subscription);
      subscription.push(watched.last);
    }
    return subscription;
  }

  /** Containers that are looked at. */
  get size(): number {
    return this.#watched.size;
  }

  #fresh(subject: Subject): Reading {
    const reading = this.#deps.read(subject);
    const watched = this.#watched.get(subject);
    if (watched !== undefined) {
      watched.last = reading;
      watched.lastMs = this.#deps.clock.monotonicMs();
    }
    return reading;
  }

  #drop(subject: Subject, subscription: Subscription): void {
    const watched = this.#watched.get(subject);
    watched?.subscriptions.delete(subscription);
    if (watched?.subscriptions.size === 0) {
      this.#watched.delete(subject);
    }
  }

  #start(): void {
    if (this.#ticking) {
      return;
    }
    this.#ticking = true;
    this.#deps.clock.setTimeout(() => {
      void this.#tick()
        .finally(() => {
          this.#ticking = false;
          if (this.#watched.size > 0) {
            this.#start();
          }
        })
        .catch((error: unknown) => {
          this.#deps.log.error({ err: error }, 'statistics were not read');
        });
    }, limits.statsIntervalMs);
  }

  async #tick(): Promise<void> {
    const startedMs = this.#deps.clock.monotonicMs();
    for (const [subject, watched] of Array.from(this.#watched)) {
      // Two samples close to each other would make shares of nearly no time.
      if (startedMs - watched.lastMs >= limits.statsIntervalMs / 2) {
        await this.#deps.turns.next();
        if (this.#watched.get(subject) === watched) {
          const reading = this.#fresh(subject);
          watched.subscriptions.forEach((subscription) => subscription.push(reading));
        }
      }
    }
  }
}

/** One client's view: the newest reading it has not had yet. A slow client misses some; none are kept for it. */
export class Subscription implements Disposable {
  readonly #onDispose: () => void;
  #newest: Reading | undefined;
  #wake: (() => void) | undefined;
  #isOver = false;

  constructor(onDispose: () => void) {
    this.#onDispose = onDispose;
  }

  push(reading: Reading): void {
    this.#newest = reading;
    this.#wake?.();
  }

  /** Nothing comes any more. */
  end(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  /** The next reading, or undefined when there will be none. One caller at a time. */
  async next(): Promise<Reading | undefined> {
    while (this.#newest === undefined && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const reading = this.#isOver ? undefined : this.#newest;
    this.#newest = undefined;
    return reading;
  }

  [Symbol.dispose](): void {
    this.end();
    this.#onDispose();
  }
}
