import { failpoint } from '../base/failpoint.ts';
import { limits } from '../base/limits.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { KeyedMutex } from '../base/mutex.ts';
import { rotateAtBytes } from '../../storage/logs/policy.ts';
import type { RotationPolicy } from '../../storage/logs/policy.ts';
import { compressOld, currentBytes, dropOld, isHalfRotated, putAside } from '../../storage/logs/rotate.ts';
import { removeDraft, removeDrafts } from '../../storage/logs/segments.ts';

/** What the rotation needs of the monitors. */
export interface LogMonitors {
  /** See ContainerRuntime.reopenLog. */
  reopenLog(id: string, logPath: string): Promise<void>;
}

/** A log that is kept in bounds. */
export interface KeptLog {
  id: string;
  path: string;
  policy: RotationPolicy;
  /** Oldest generation that delivery still needs; undefined = none. */
  needed: (this: void) => number | undefined;
  /** These files went undelivered, for the spool was full. */
  lost: (this: void, generations: readonly number[]) => void;
}

interface Watched extends KeptLog {
  bytes: number;
  intervalMs: number;
  dueAtMs: number;
  isBusy: boolean;
  isFailing: boolean;
}

/**
 * Keeps logs in bounds: looks at their sizes, more often while they grow, and rotates. Nothing is done per line, and a
 * monitor writes on meanwhile; a log may overrun its size by what is written between two looks.
 */
export class Rotation implements Disposable {
  readonly #monitors: LogMonitors;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #watched = new Map<string, Watched>();
  /** One rotation of a log at a time, whoever asked for it. */
  readonly #mutex = new KeyedMutex();
  #timer: Disposable | undefined;

  constructor(deps: { monitors: LogMonitors; clock: Clock; log: Logger }) {
    this.#monitors = deps.monitors;
    this.#clock = deps.clock;
    this.#log = deps.log;
  }

  /** Watches a log whose container runs. What a daemon that died left half-done is finished, and its growth cut. */
  watch(kept: KeptLog): void {
    const watched: Watched = {
      ...kept,
      bytes: 0,
      intervalMs: limits.logCheckMs,
      dueAtMs: this.#clock.monotonicMs() + limits.logCheckMs,
      isBusy: false,
      isFailing: false,
    };
    this.#watched.set(kept.id, watched);
    this.#timer ??= this.#schedule();
  }

  /** As the daemon's start finds it: finishes, removes drafts, rotates what has grown meanwhile. */
  async recover(kept: KeptLog): Promise<void> {
    removeDrafts(kept.path);
    await this.settle(kept);
  }

  /** The container has ended or is removed; `watch` is needed for its next run. */
  forget(id: string): void {
    this.#watched.delete(id);
  }

  /** Looks now, once: rotates when it is time, and removes what nobody needs any more. */
  settle(kept: KeptLog): Promise<void> {
    return this.#mutex.run(kept.id, () => this.#settle(kept));
  }

  /** Every step looks for itself whether it is needed: after a crash, and when whoever waited was served meanwhile. */
  async #settle(kept: KeptLog): Promise<void> {
    const { path, policy } = kept;
    if (isHalfRotated(path)) {
      await this.#reopen(kept);
    }
    if (currentBytes(path) >= rotateAtBytes(policy)) {
      putAside(path);
      await this.#reopen(kept);
    }
    await this.#tidy(kept);
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#watched.clear();
  }

  #schedule(): Disposable {
    return this.#clock.setTimeout(() => {
      this.#timer = this.#watched.size > 0 ? this.#schedule() : undefined;
      this.#look();
    }, limits.logCheckMs);
  }

  #look(): void {
    const now = this.#clock.monotonicMs();
    for (const watched of this.#watched.values()) {
      if (now < watched.dueAtMs || watched.isBusy) {
        continue;
      }
      const bytes = currentBytes(watched.path);
      const isQuiet = bytes === watched.bytes;
      watched.bytes = bytes;
      watched.intervalMs = isQuiet
        ? Math.min(watched.intervalMs * 2, limits.logCheckQuietMs)
        : limits.logCheckMs;
      watched.dueAtMs = now + watched.intervalMs;
      const isHalf = bytes === 0 && isHalfRotated(watched.path);
      if (bytes >= rotateAtBytes(watched.policy) || isHalf || watched.isFailing) {
        watched.isBusy = true;
        void this.#work(watched);
      }
    }
  }

  /** Never rejects. */
  async #work(watched: Watched): Promise<void> {
    try {
      await this.settle(watched);
      watched.isFailing = false;
    } catch (error) {
      // A full disk, a stopped monitor: tried again at the next look, told once.
      if (!watched.isFailing) {
        this.#log.error({ container: watched.id, err: error }, 'a log could not be rotated');
      }
      watched.isFailing = true;
      watched.dueAtMs = this.#clock.monotonicMs() + limits.logCheckQuietMs;
    } finally {
      watched.isBusy = false;
    }
  }

  async #reopen({ id, path }: KeptLog): Promise<void> {
    failpoint('logs.rotate.reopen');
    await this.#monitors.reopenLog(id, path);
    // Still there when the container has ended meanwhile: its next monitor makes its own file.
    removeDraft(path);
  }

  async #tidy({ path, policy, needed, lost }: KeptLog): Promise<void> {
    const delivery = needed();
    const users = delivery === undefined ? {} : { delivery };
    const { lostGenerations } = dropOld(path, policy, users);
    if (lostGenerations.length > 0) {
      lost(lostGenerations);
    }
    if (policy.compress) {
      await compressOld(path, users);
    }
  }
}
