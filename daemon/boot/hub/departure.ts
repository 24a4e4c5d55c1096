import type { Clock } from '../../base/clock.ts';
import { pause } from '../../base/concurrency/pause.ts';
import { errorText } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Membership } from '../records/standing.ts';
import type { Aside } from './aside.ts';

/** Gives what this host alone holds to managers; answers the digests that nobody took. */
export type HandOver = (signal: AbortSignal) => Promise<readonly string[]>;

interface Deps {
  clock: Clock;
  log: Logger;
  aside: Pick<Aside, 'keep'>;
  membership: () => Membership | undefined;
}

/**
 * Blobs of a swarm's hub on a host that is no manager any more, or soon: a worker hands them over in the background,
 * and a host that leaves before it does. What nobody takes stays on this host's disk.
 */
export class Departure implements Disposable {
  readonly #deps: Deps;
  #handOver: HandOver | undefined;
  #asWorker: AbortController | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  start(handOver: HandOver): void {
    this.#handOver = handOver;
    this.changed();
  }

  /** This host is something else to its swarm, or may be. */
  changed(): void {
    const isWorker = this.#deps.membership()?.isManager === false;
    if (!isWorker || this.#handOver === undefined) {
      this.#asWorker?.abort();
      this.#asWorker = undefined;
    } else if (this.#asWorker === undefined) {
      const stop = new AbortController();
      this.#asWorker = stop;
      void this.#untilNothingIsLeft(this.#handOver, stop.signal).catch((error: unknown) => {
        this.#deps.log.error({ err: error }, 'blobs of the hub are handed over no more');
      });
    }
  }

  /** The host leaves, and managers stay. Ends within `limits.hubHandOverMs`. */
  async leaves(): Promise<void> {
    if (this.#handOver === undefined) {
      return;
    }
    const { clock, log, aside } = this.#deps;
    const late = new AbortController();
    using _timer = clock.setTimeout(() => late.abort(), limits.hubHandOverMs);
    const left = await this.#handOver(late.signal);
    if (left.length > 0) {
      const file = await aside.keep(left);
      log.warn({ blobs: left.length, file }, 'blobs of the hub that no manager took stay on this host');
    }
  }

  [Symbol.dispose](): void {
    this.#asWorker?.abort();
  }

  async #untilNothingIsLeft(handOver: HandOver, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if ((await handOver(signal)).length === 0) {
          return;
        }
      } catch (error) {
        this.#deps.log.warn({ reason: errorText(error) }, 'blobs of the hub could not be handed over yet');
      }
      await pause(this.#deps.clock, limits.hubHandOverRetryMs, signal);
    }
  }
}
