import type { Clock } from '../../../base/clock.ts';
import { errorText } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';

interface Deps {
  meta: { get(key: string): string | undefined; set(key: string, value: string): void };
  clock: Clock;
  log: Logger;
}

/** The row of `meta`: UNIX nanoseconds. */
const KEY = 'cluster.events.told';
const NANOS_PER_MS = 1_000_000n;

/**
 * Up to where the engine's events were told to the cluster, durably: the next daemon goes on from there. Written now
 * and then, so the last second's are told again, which changes nothing: they have the same names.
 */
export class ToldPlace implements Disposable {
  readonly #deps: Deps;
  /** Being told: how many of each time. */
  readonly #underWay = new Map<bigint, number>();
  #newest: bigint;
  #written: bigint;
  #timer: Disposable | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#written = BigInt(deps.meta.get(KEY) ?? 0);
    this.#newest = this.#written === 0n ? deps.clock.nowNano() : this.#written - 1n;
  }

  /** Where to go on: not further back than anybody would want to hear of it. */
  get since(): bigint {
    const farthest = this.#deps.clock.nowNano() - BigInt(limits.clusterToldAgainMs) * NANOS_PER_MS;
    const place = this.#place;
    return place > farthest ? place : farthest;
  }

  /** That something of this time is being told until the promise, which never rejects, resolves. */
  async tell(atNano: bigint, telling: Promise<void>): Promise<void> {
    this.#underWay.set(atNano, (this.#underWay.get(atNano) ?? 0) + 1);
    await telling;
    const left = (this.#underWay.get(atNano) ?? 1) - 1;
    if (left > 0) {
      this.#underWay.set(atNano, left);
    } else {
      this.#underWay.delete(atNano);
    }
    this.pass(atNano);
  }

  /** Nothing is to be told of what happened then. */
  pass(atNano: bigint): void {
    this.#newest = atNano > this.#newest ? atNano : this.#newest;
    this.#timer ??= this.#deps.clock.setTimeout(() => {
      this.#timer = undefined;
      this.#write();
    }, limits.clusterToldPaceMs);
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#write();
  }

  get #place(): bigint {
    // Behind the newest, which was told if nothing is under way.
    let place = this.#newest + 1n;
    for (const atNano of this.#underWay.keys()) {
      place = atNano < place ? atNano : place;
    }
    return place;
  }

  #write(): void {
    const place = this.#place;
    if (place === this.#written) {
      return;
    }
    try {
      failpoint('cluster.events.told');
      this.#deps.meta.set(KEY, String(place));
      this.#written = place;
    } catch (error) {
      // A full disk: what it is about is told again by the next daemon.
      this.#deps.log.debug(
        { reason: errorText(error) },
        'how far events were told could not be written down',
      );
    }
  }
}
