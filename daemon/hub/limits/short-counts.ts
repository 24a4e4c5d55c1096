import { limits } from '../../base/limits.ts';
import type { Counted } from './counted.ts';
import { SharedWindows } from './shared-windows.ts';
import type { WindowState } from './windows.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** What is counted beside the hour of a caller, and in which windows. */
const LENGTHS = {
  points: MINUTE_MS,
  content: MINUTE_MS,
  'content-of-hour': HOUR_MS,
  /** In milliseconds of it. */
  processor: MINUTE_MS,
  registry_pull: MINUTE_MS,
  registry_push: MINUTE_MS,
} as const;

export type ShortLimit = keyof typeof LENGTHS;

/**
 * What the secondary limits and those of pulls and pushes have counted, by all managers together: who asks another one
 * may not do more. Keys of records are `<limit>/<caller>`.
 */
export class ShortCounts implements Counted<WindowState> {
  readonly prefix = 'limit-short/';
  readonly #windows = new Map<string, SharedWindows>(
    Object.entries(LENGTHS).map(([limit, lengthMs]) => [
      limit,
      new SharedWindows({ lengthMs, keysMax: limits.hubLimitedCallersMax }),
    ]),
  );
  readonly #now: () => number;
  /** Counted since they were last taken. */
  #changed = new Set<string>();

  /** `now`: milliseconds since 1970. */
  constructor(now: () => number) {
    this.#now = now;
  }

  state(limit: ShortLimit, caller: string): WindowState {
    return this.#of(limit).state(caller, this.#now());
  }

  /** Counts here, and answers the state of all. */
  use(limit: ShortLimit, caller: string, amount: number): WindowState {
    if (this.#changed.size < limits.hubLimitedCallersMax) {
      this.#changed.add(`${limit}/${caller}`);
    }
    return this.#of(limit).use(caller, amount, this.#now());
  }

  take(): { key: string; state: WindowState }[] {
    const nowMs = this.#now();
    const taken = [...this.#changed].map((key) => {
      const [limit, caller] = partsOf(key);
      return { key, state: this.#of(limit).own(caller, nowMs) };
    });
    this.#changed = new Set();
    return taken;
  }

  restore(key: string, state: WindowState): void {
    const [limit, caller] = partsOf(key);
    this.#windows.get(limit)?.restore(caller, state, this.#now());
  }

  tell(host: string, key: string, state: WindowState | undefined): void {
    const [limit, caller] = partsOf(key);
    this.#windows.get(limit)?.tell(host, caller, state);
  }

  endsMs({ resetMs }: WindowState): number {
    return resetMs;
  }

  #of(limit: string): SharedWindows {
    const found = this.#windows.get(limit);
    if (found === undefined) {
      throw new Error(`no limit is named ${limit}`);
    }
    return found;
  }
}

/** Another version of the daemon may have limits that this one has not: they are passed by. */
function partsOf(key: string): [limit: string, caller: string] {
  const at = key.indexOf('/');
  return [key.slice(0, at), key.slice(at + 1)];
}
