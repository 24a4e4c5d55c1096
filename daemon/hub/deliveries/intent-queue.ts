import type { Intent } from './intent.ts';

interface Lane {
  host: string;
  waiting: Intent[];
  /** Taken, in order. */
  underWay: readonly Intent[];
}

export interface QueueBounds {
  /** Hooks whose deliveries are under way. */
  inAll: number;
  ofHost: number;
  /** Deliveries of one hook that are taken at a time, to be made one after the other. */
  ofHook: number;
}

export interface Taken {
  /** Of one hook, one at least. */
  intents: readonly Intent[];
  /** Gives their place back. `rest`: the last of them, which were not made. */
  done: (rest: readonly Intent[]) => void;
}

/**
 * Who is next: the deliveries of one hook one after the other, in order; those of different hooks beside each other, so
 * many to one host and so many in all. Hosts take turns, and so do the hooks of one. Pure state.
 */
export class IntentQueue {
  readonly #bounds: QueueBounds;
  /** Where a hook's deliveries go: those to one host share its bound. */
  readonly #hostOf: (intent: Intent) => string;
  readonly #lanes = new Map<number, Lane>();
  /** By host: hooks that wait for a turn, in order. */
  readonly #ready = new Map<string, Set<number>>();
  readonly #underWay = new Map<string, number>();
  #taken = 0;
  #waiting = 0;

  constructor(bounds: QueueBounds, hostOf: (intent: Intent) => string) {
    this.#bounds = bounds;
    this.#hostOf = hostOf;
  }

  add(intent: Intent): void {
    const lane = this.#lanes.get(intent.hook) ?? { host: '', waiting: [], underWay: [] };
    this.#lanes.set(intent.hook, lane);
    lane.waiting.push(intent);
    this.#waiting += 1;
    this.#offer(intent.hook, lane);
  }

  /** How many of a hook wait or are under way. */
  waitingOf(hook: number): number {
    const lane = this.#lanes.get(hook);
    return lane === undefined ? 0 : lane.waiting.length + lane.underWay.length;
  }

  /** How many of all hooks wait or are under way. */
  get waiting(): number {
    return this.#waiting;
  }

  /** A hook as it was when it went, where a delivery that waits knows it: what came before it is for the same hook. */
  lastHookOf(hook: number): Intent['lastHook'] {
    const lane = this.#lanes.get(hook);
    const all = lane === undefined ? [] : [...lane.underWay, ...lane.waiting];
    return all.findLast(({ lastHook }) => lastHook !== null)?.lastHook ?? null;
  }

  /** Takes the next ones; undefined = none may go now. */
  take(): Taken | undefined {
    if (this.#taken >= this.#bounds.inAll) {
      return undefined;
    }
    for (const [host, hooks] of this.#ready) {
      const [hook] = hooks;
      const lane = hook === undefined ? undefined : this.#lanes.get(hook);
      if ((this.#underWay.get(host) ?? 0) < this.#bounds.ofHost && hook !== undefined && lane !== undefined) {
        return this.#begin(hook, lane, hooks);
      }
    }
    return undefined;
  }

  #begin(hook: number, lane: Lane, hooks: Set<number>): Taken {
    const { host } = lane;
    hooks.delete(hook);
    // To the end of the line.
    this.#ready.delete(host);
    if (hooks.size > 0) {
      this.#ready.set(host, hooks);
    }
    const intents = lane.waiting.splice(0, this.#bounds.ofHook);
    lane.underWay = intents;
    this.#taken += 1;
    this.#underWay.set(host, (this.#underWay.get(host) ?? 0) + 1);
    return { intents, done: (rest) => this.#end(hook, lane, host, rest) };
  }

  #end(hook: number, lane: Lane, host: string, rest: readonly Intent[]): void {
    this.#waiting -= lane.underWay.length - rest.length;
    lane.underWay = [];
    lane.waiting.unshift(...rest);
    this.#taken -= 1;
    const left = (this.#underWay.get(host) ?? 1) - 1;
    if (left === 0) {
      this.#underWay.delete(host);
    } else {
      this.#underWay.set(host, left);
    }
    if (lane.waiting.length === 0) {
      this.#lanes.delete(hook);
    } else {
      this.#offer(hook, lane);
    }
  }

  #offer(hook: number, lane: Lane): void {
    const [first] = lane.waiting;
    if (lane.underWay.length > 0 || first === undefined) {
      return;
    }
    const host = this.#hostOf(first);
    if (host !== lane.host) {
      this.#ready.get(lane.host)?.delete(hook);
      lane.host = host;
    }
    const hooks = this.#ready.get(host) ?? new Set<number>();
    this.#ready.set(host, hooks.add(hook));
  }
}
