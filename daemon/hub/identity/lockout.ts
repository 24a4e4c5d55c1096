import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { Counted } from '../limits/counted.ts';
import { OtherHosts } from '../limits/other-hosts.ts';

/** Times in milliseconds since 1970. */
interface Failures {
  /** Of the newest ones. */
  atMs: readonly number[];
  lockedUntilMs: number;
  /** Of the last right credentials: failures before count no more, nor do those of other hosts. */
  clearedMs: number;
}

const NONE: Failures = { atMs: [], lockedUntilMs: 0, clearedMs: 0 };

/**
 * Counts wrong credentials of one name or address, together with the other managers of a swarm: after
 * `limits.hubBadCredentialsMax` of them all of its credentials are refused for a while, right ones too (seed 001,
 * section 5 rule 7). Guessing goes on no faster than that. Records `lockout/<SHA-256 of the name or address>`, as what
 * clients send as a name may be anything.
 */
export class Lockout implements Counted<Failures> {
  readonly prefix = 'lockout/';
  readonly #clock: Clock;
  readonly #told: (name: string) => void;
  readonly #failures = new Map<string, Failures>();
  readonly #others = new OtherHosts<Failures>(limits.hubLockoutsRemembered);
  #changed = new Set<string>();

  /** `told`: of each name or address that is locked out. */
  constructor(clock: Clock, told: (name: string) => void = () => undefined) {
    this.#clock = clock;
    this.#told = told;
  }

  isLocked(name: string): boolean {
    const nowMs = this.#nowMs();
    // A clock that was off must not lock anybody for longer.
    const lastMs = nowMs + limits.hubLockoutMs + limits.hubClockSkewMs;
    return this.#all(keyOf(name)).some(
      ({ lockedUntilMs }) => lockedUntilMs > nowMs && lockedUntilMs <= lastMs,
    );
  }

  failed(name: string): void {
    const [key, nowMs] = [keyOf(name), this.#nowMs()];
    const known = this.#failures.get(key) ?? NONE;
    const recent = ({ atMs }: Failures): number[] =>
      atMs.filter((at) => at <= nowMs && nowMs - at < limits.hubBadCredentialsWithinMs);
    const all = this.#all(key);
    const clearedMs = Math.max(...all.map((one) => one.clearedMs), 0);
    const counted = all.flatMap(recent).filter((at) => at > clearedMs);
    const isTooMany = counted.length + 1 >= limits.hubBadCredentialsMax;
    this.#set(key, {
      atMs: isTooMany ? [] : [...recent(known).filter((at) => at > clearedMs), nowMs],
      lockedUntilMs: isTooMany ? nowMs + limits.hubLockoutMs : known.lockedUntilMs,
      clearedMs: known.clearedMs,
    });
    if (isTooMany) {
      this.#told(name);
    }
  }

  succeeded(name: string): void {
    const key = keyOf(name);
    if (this.#all(key).length > 0) {
      this.#set(key, { ...NONE, clearedMs: this.#nowMs() });
    }
  }

  take(): { key: string; state: Failures }[] {
    const taken = [...this.#changed].slice(0, limits.hubChangesAtOnce);
    taken.forEach((key) => this.#changed.delete(key));
    return taken.flatMap((key) => {
      const state = this.#failures.get(key);
      return state === undefined ? [] : [{ key, state }];
    });
  }

  restore(key: string, state: Failures): void {
    this.#failures.set(key, state);
  }

  tell(host: string, key: string, state: Failures | undefined): void {
    this.#others.tell(host, key, state);
  }

  endsMs({ atMs, lockedUntilMs, clearedMs }: Failures): number {
    return Math.max(
      lockedUntilMs,
      ...[...atMs, clearedMs].map((at) => at + limits.hubBadCredentialsWithinMs),
    );
  }

  #all(key: string): Failures[] {
    const own = this.#failures.get(key);
    return own === undefined ? this.#others.of(key) : [own, ...this.#others.of(key)];
  }

  #set(key: string, failures: Failures): void {
    // To its end: the oldest stand in front.
    this.#failures.delete(key);
    this.#failures.set(key, failures);
    this.#changed.add(key);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > limits.hubLockoutsRemembered && oldest !== undefined) {
      this.#failures.delete(oldest);
      this.#changed.delete(oldest);
    }
  }

  #nowMs(): number {
    return Number(this.#clock.nowNano() / 1_000_000n);
  }
}

function keyOf(name: string): string {
  return createHash('sha256').update(name).digest('hex');
}
