import { limits } from '../../base/limits.ts';
import { OtherHosts } from './other-hosts.ts';
import { Windows, type WindowState } from './windows.ts';

/**
 * Windows that all managers of a swarm count together: what this host has counted, and what the others have told of
 * theirs. A window that begins here while another manager's runs ends with that.
 */
export class SharedWindows {
  readonly #lengthMs: number;
  readonly #own: Windows;
  readonly #others = new OtherHosts<WindowState>(limits.hubLimitedCallersMax);

  constructor(options: { lengthMs: number; keysMax: number }) {
    this.#lengthMs = options.lengthMs;
    this.#own = new Windows(options);
  }

  /** Of all managers. */
  state(key: string, nowMs: number): WindowState {
    const others = this.#othersOf(key, nowMs);
    return others.length === 0 ? this.#own.state(key, nowMs) : sum([...others, this.#own.known(key, nowMs)]);
  }

  /** Counts here, and answers the state of all. */
  use(key: string, amount: number, nowMs: number): WindowState {
    const others = this.#othersOf(key, nowMs);
    if (others.length === 0) {
      return this.#own.use(key, amount, nowMs);
    }
    const own = this.#own.use(key, amount, nowMs, sum(others).resetMs);
    return sum([...others, own]);
  }

  /** What this host has counted. */
  own(key: string, nowMs: number): WindowState {
    return this.#own.state(key, nowMs);
  }

  /** Takes over what this host had counted before a restart. */
  restore(key: string, state: WindowState, nowMs: number): void {
    this.#own.restore(key, state, nowMs);
  }

  /** What another host has counted; undefined = nothing any more. */
  tell(host: string, key: string, state: WindowState | undefined): void {
    this.#others.tell(host, key, state);
  }

  #othersOf(key: string, nowMs: number): WindowState[] {
    const lastMs = nowMs + this.#lengthMs + limits.hubClockSkewMs;
    return this.#others.of(key).filter(({ resetMs }) => resetMs > nowMs && resetMs <= lastMs);
  }
}

/** Of windows that run; whoever waits until they reset waits for the last one. */
function sum(states: readonly (WindowState | undefined)[]): WindowState {
  const known = states.filter((state) => state !== undefined);
  return {
    used: known.reduce((used, state) => used + state.used, 0),
    resetMs: Math.max(...known.map(({ resetMs }) => resetMs)),
  };
}
