import type { Clock } from '../../daemon/base/clock.ts';
import { pause } from '../../daemon/base/concurrency/pause.ts';
import { errorText } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { isStoreError } from './errors.ts';
import { whenAbsent } from './absence.ts';
import type { Readable } from './absence.ts';
import type { Candidate, Fence, Leadership } from './port.ts';

/** What an election needs of a store: leases, and a key that goes with its lease. */
export interface Leases {
  grant(ttlMs: number): Promise<string>;
  /** False when there is no such lease any more. Ends within `timeoutMs`, where nobody answers in `unavailable`. */
  keepAlive(lease: string, timeoutMs: number): Promise<boolean>;
  revoke(lease: string): Promise<void>;
  /** Makes the key under the lease; undefined where the key exists already. Answers its `created`. */
  claim(key: string, value: Buffer, lease: string): Promise<number | undefined>;
}

/** Times within one time to live that the leader says that it is there: two may be lost. */
const KEEP_ALIVES = 3;

/**
 * Waits for its turn: the first candidate that makes the key leads. Each attempt has a lease of its own, so that an
 * answer that was lost leaves at most a key behind that nobody keeps alive.
 */
export async function elect(
  { clock, leases, store }: { clock: Clock; leases: Leases; store: Readable },
  candidate: Candidate,
): Promise<Leadership> {
  const { key, value, ttlMs, signal = new AbortController().signal } = candidate;
  let pauseMs: number = limits.swarmStoreRetryMs;
  for (;;) {
    try {
      await whenAbsent(store, key, signal);
      const askedMs = clock.monotonicMs();
      const lease = await leases.grant(ttlMs);
      const created = await claimOrRevoke(leases, { key, value, lease });
      if (created !== undefined) {
        return new KeptLeadership(clock, leases, { lease, ttlMs, askedMs, fence: { key, created } });
      }
      pauseMs = limits.swarmStoreRetryMs;
    } catch (error) {
      // A store that cannot answer now may later; what else was thrown is final.
      if (!isPassing(error)) {
        throw error;
      }
      await pause(clock, pauseMs, signal);
      pauseMs = Math.min(pauseMs * 2, limits.swarmStoreRetryMaxMs);
    }
  }
}

async function claimOrRevoke(
  leases: Leases,
  { key, value, lease }: { key: string; value: Buffer; lease: string },
): Promise<number | undefined> {
  let created: number | undefined;
  try {
    created = await leases.claim(key, value, lease);
    return created;
  } finally {
    if (created === undefined) {
      // Where this is refused too the lease ends by itself, and a key that was made all the same with it.
      await leases.revoke(lease).catch(ignored);
    }
  }
}

interface Kept {
  lease: string;
  ttlMs: number;
  /** When the lease was asked for: the store counts from later. */
  askedMs: number;
  fence: Fence;
}

/**
 * Keeps the lease alive, and gives up by this host's own clock: a process that was frozen, or is cut off, knows that it
 * leads no more at the latest when the store does.
 */
class KeptLeadership implements Leadership {
  readonly fence: Fence;
  readonly lost: Promise<string>;
  readonly #clock: Clock;
  readonly #leases: Leases;
  readonly #kept: Kept;
  #nextTimer: Disposable | undefined;
  /** When the question was sent whose answer counts: answers may come in another order. */
  #keptMs = Number.NEGATIVE_INFINITY;
  #endTimer: Disposable | undefined;
  #end!: (reason: string) => void;
  #ended = false;

  constructor(clock: Clock, leases: Leases, kept: Kept) {
    this.fence = kept.fence;
    this.#clock = clock;
    this.#leases = leases;
    this.#kept = kept;
    this.lost = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#extend(kept.askedMs);
    this.#next();
  }

  async resign(): Promise<void> {
    this.#finish('resigned');
    await this.#leases.revoke(this.#kept.lease);
  }

  /** A question that is not answered yet does not keep the next one waiting: a slow store is still one. */
  #next(delayMs = this.#kept.ttlMs / KEEP_ALIVES): void {
    this.#nextTimer?.[Symbol.dispose]();
    this.#nextTimer = this.#clock.setTimeout(() => {
      this.#next();
      void this.#keepAlive().catch((error: unknown) => this.#finish(errorText(error)));
    }, delayMs);
  }

  /** Alive for one more life from when the store was asked for it. */
  #extend(fromMs: number): void {
    if (fromMs < this.#keptMs) {
      return;
    }
    this.#keptMs = fromMs;
    this.#endTimer?.[Symbol.dispose]();
    this.#endTimer = this.#clock.setTimeout(
      () => this.#finish('the store was not reached for the life of the lease'),
      fromMs + this.#kept.ttlMs - this.#clock.monotonicMs(),
    );
  }

  async #keepAlive(): Promise<void> {
    const sentMs = this.#clock.monotonicMs();
    const { lease, ttlMs } = this.#kept;
    const isKept = await this.#leases.keepAlive(lease, ttlMs).catch((error: unknown) => {
      if (!isPassing(error)) {
        throw error;
      }
      return undefined;
    });
    if (this.#ended) {
      return;
    }
    if (isKept === false) {
      this.#finish('the store has given up the lease');
      return;
    }
    if (isKept === true) {
      this.#extend(sentMs);
    } else {
      // The members of the store may be electing: a leader that lives should be one after it.
      this.#next(limits.swarmStoreRetryMs);
    }
  }

  #finish(reason: string): void {
    this.#ended = true;
    this.#nextTimer?.[Symbol.dispose]();
    this.#endTimer?.[Symbol.dispose]();
    this.#end(reason);
  }
}

function isPassing(error: unknown): boolean {
  return isStoreError(error, 'unavailable') || isStoreError(error, 'unknown');
}

function ignored(): void {
  // See the call.
}
