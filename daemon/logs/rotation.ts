import { failpoint } from '../base/failpoint.ts';
import { limits } from '../base/limits.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { KeyedMutex } from '../base/concurrency/mutex.ts';
import { rotateAtBytes, stopAtBytes } from '../../storage/logs/policy.ts';
import type { RotationPolicy } from '../../storage/logs/policy.ts';
import {
  compressOld,
  currentBytes,
  dropOld,
  isHalfRotated,
  markCut,
  putAside,
} from '../../storage/logs/rotate.ts';
import { removeDraft, removeDrafts } from '../../storage/logs/segments.ts';

/** What the rotation needs of the monitors. */
export interface LogMonitors {
  /** See ContainerRuntime.reopenLog. */
  reopenLog(id: string, logPath: string): Promise<void>;
  /** See ConmonRuntime.limitLog. */
  limitLog(id: string, bytesMax: number | null): void;
}

/** A log that is kept in bounds. */
export interface LocalLog {
  id: string;
  path: string;
  policy: RotationPolicy;
  /** Oldest generation that delivery still needs; undefined = none. */
  needed: (this: void) => number | undefined;
  /** These files went undelivered, for the spool was full. */
  lost: (this: void, generations: readonly number[]) => void;
}

interface Watched extends LocalLog {
  /** Size at the last look, and when that was. */
  bytes: number;
  lookedAtMs: number;
  intervalMs: number;
  dueAtMs: number;
  isBusy: boolean;
  isFailing: boolean;
}

/**
 * Keeps logs in bounds: looks at their sizes, more often while they grow, and rotates. Nothing is done per line, and a
 * monitor writes on meanwhile; a log may overrun its size by what is written between two looks, up to `stopAtBytes`.
 * There the kernel refuses the monitor's writes, also while no daemon runs, and the next rotation marks the place. So
 * the newest output is lost. conmon could lose the oldest instead (--log-size-max): but it empties the whole file under
 * its readers, leaves no mark, and its size cannot be changed while the container runs.
 */
export class Rotation implements Disposable {
  readonly #monitors: LogMonitors;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #watched = new Map<string, Watched>();
  /** One rotation of a log at a time. */
  readonly #mutex = new KeyedMutex();
  #timer: Disposable | undefined;

  constructor(deps: { monitors: LogMonitors; clock: Clock; log: Logger }) {
    this.#monitors = deps.monitors;
    this.#clock = deps.clock;
    this.#log = deps.log;
  }

  /** Watches a log whose container runs. What a daemon that died left half-done is finished, and its growth cut. */
  watch(log: LocalLog): void {
    const now = this.#clock.monotonicMs();
    this.#watched.set(log.id, {
      ...log,
      bytes: currentBytes(log.path),
      lookedAtMs: now,
      intervalMs: limits.logCheckMs,
      dueAtMs: now + limits.logCheckMs,
      isBusy: false,
      isFailing: false,
    });
    this.#schedule();
  }

  /** As the daemon's start finds it: finishes, removes drafts, rotates what has grown meanwhile. */
  async recover(log: LocalLog): Promise<void> {
    removeDrafts(log.path);
    await this.settle(log);
  }

  /** The container has ended or is removed; `watch` is needed for its next run. */
  forget(id: string): void {
    this.#watched.delete(id);
  }

  /** Looks now, once: rotates when it is time, and removes files that are no longer needed. */
  settle(log: LocalLog): Promise<void> {
    return this.#mutex.run(log.id, () => this.#settle(log));
  }

  /** Every step checks itself whether it is needed: after a crash, and when another rotation has done it meanwhile. */
  async #settle(log: LocalLog): Promise<void> {
    const { path, policy } = log;
    if (isHalfRotated(path)) {
      this.#mark(log);
      await this.#reopen(log);
    }
    if (currentBytes(path) >= rotateAtBytes(policy)) {
      this.#mark(log);
      putAside(path);
      await this.#reopen(log);
    }
    await this.#tidy(log);
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#watched.clear();
  }

  /** A log that was cut off says so; a disk that is too full for that does not keep it from being rotated. */
  #mark({ id, path, policy }: LocalLog): void {
    try {
      if (markCut(path, stopAtBytes(policy))) {
        this.#log.warn(
          { container: id },
          'a log grew too fast to be rotated in time: output is missing in it',
        );
      }
    } catch (error) {
      this.#log.error({ container: id, err: error }, 'output is missing in a log, which could not be marked');
    }
  }

  /** The next look, when the first log is due. */
  #schedule(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    const due = Math.min(...[...this.#watched.values()].map(({ dueAtMs }) => dueAtMs));
    if (due !== Infinity) {
      const inMs = Math.max(limits.logCheckMinMs, due - this.#clock.monotonicMs());
      this.#timer = this.#clock.setTimeout(() => this.#look(), inMs);
    }
  }

  #look(): void {
    const now = this.#clock.monotonicMs();
    for (const watched of this.#watched.values()) {
      if (now < watched.dueAtMs) {
        continue;
      }
      const bytes = currentBytes(watched.path);
      watched.intervalMs = nextInterval(watched, { bytes, now });
      watched.bytes = bytes;
      watched.lookedAtMs = now;
      watched.dueAtMs = now + watched.intervalMs;
      const isHalf = bytes === 0 && isHalfRotated(watched.path);
      const isWork = bytes >= rotateAtBytes(watched.policy) || isHalf || watched.isFailing;
      if (isWork && !watched.isBusy) {
        watched.isBusy = true;
        void this.#work(watched).catch((error: unknown) => {
          // A full disk, a stopped monitor: tried again at the next look, told once.
          if (!watched.isFailing) {
            this.#log.error({ container: watched.id, err: error }, 'a log could not be rotated');
          }
          watched.isFailing = true;
          watched.dueAtMs = this.#clock.monotonicMs() + limits.logCheckQuietMs;
        });
      }
    }
    this.#schedule();
  }

  async #work(watched: Watched): Promise<void> {
    try {
      await this.settle(watched);
      watched.isFailing = false;
    } finally {
      watched.isBusy = false;
    }
  }

  async #reopen({ id, path }: LocalLog): Promise<void> {
    failpoint('logs.rotate.reopen');
    await this.#monitors.reopenLog(id, path);
    // Still there when the container has ended meanwhile: its next monitor makes its own file.
    removeDraft(path);
  }

  async #tidy({ path, policy, needed, lost }: LocalLog): Promise<void> {
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

/** Twice as often as the log reaches its size at the pace of the last look; ever less often while it is quiet. Pure. */
function nextInterval(
  { bytes: last, lookedAtMs, intervalMs, policy }: Watched,
  { bytes, now }: { bytes: number; now: number },
): number {
  const grown = bytes - last;
  if (grown === 0) {
    return Math.min(Math.max(intervalMs, limits.logCheckMs) * 2, limits.logCheckQuietMs);
  }
  // One that was rotated meanwhile has grown by what is in it.
  const perMs = (grown > 0 ? grown : bytes) / Math.max(1, now - lookedAtMs);
  const untilFullMs = rotateAtBytes(policy) / Math.max(perMs, 1e-9);
  return Math.min(Math.max(untilFullMs / 2, limits.logCheckMinMs), limits.logCheckMs);
}
