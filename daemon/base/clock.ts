/**
 * Wall and monotonic time, injected so that tests can move it. Wall times are nanoseconds since the UNIX epoch as
 * bigint (JavaScript numbers lose nanoseconds); durations are milliseconds of the monotonic clock.
 */
export interface Clock {
  /** Strictly increasing nanoseconds since 1970-01-01 UTC: two calls never return the same value. */
  nowNano(): bigint;
  /** Monotonic milliseconds; only differences mean anything. */
  monotonicMs(): number;
  /** Longer delays than 24 days end after these: timers of Node.js take no more. */
  setTimeout(callback: () => void, delayMs: number): Disposable;
}

const TIMER_MS_MAX = 2 ** 31 - 1;

/** `nano` where it lies in millisecond `ms`, otherwise that millisecond's nearer end. */
function within(ms: number, nano: bigint): bigint {
  const start = BigInt(ms) * 1_000_000n;
  const end = start + 999_999n;
  return nano < start ? start : nano > end ? end : nano;
}

/**
 * Milliseconds are those of `Date.now()`, so that a client's `since` and `until` mean here what they mean to it,
 * however the wall clock is slewed or stepped. What is finer comes from the monotonic clock: Node.js has no finer
 * wall clock.
 */
class SystemClock implements Clock {
  #offsetNano = BigInt(Date.now()) * 1_000_000n - process.hrtime.bigint();
  #last = 0n;

  nowNano(): bigint {
    const wallMs = Date.now();
    const monotonicNano = process.hrtime.bigint();
    let now = within(wallMs, monotonicNano + this.#offsetNano);
    this.#offsetNano = now - monotonicNano;
    if (now <= this.#last && this.#last - now < 1_000_000_000n) {
      now = this.#last + 1n;
    }
    this.#last = now;
    return now;
  }

  monotonicMs(): number {
    return performance.now();
  }

  setTimeout(callback: () => void, delayMs: number): Disposable {
    const timer = setTimeout(callback, Math.min(delayMs, TIMER_MS_MAX));
    timer.unref();
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  }
}

export const systemClock: Clock = new SystemClock();

/** RFC 3339 with nine fractional digits, as every time stamp of the API: `2016-06-07T20:31:11.853781916Z`. */
export function formatNano(nano: bigint): string {
  const millis = nano / 1_000_000n;
  const fraction = (nano % 1_000_000_000n).toString().padStart(9, '0');
  return `${new Date(Number(millis)).toISOString().slice(0, 19)}.${fraction}Z`;
}

/** The API's zero time, sent for "never". */
export const ZERO_TIME = '0001-01-01T00:00:00Z';

/**
 * Nanoseconds since the epoch of an RFC 3339 time stamp; keeps nanoseconds. Throws RangeError on anything else, dates
 * and hours that no calendar has among them.
 */
export function parseRfc3339Nano(text: string): bigint {
  const match = /^((\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(text);
  const [, second = '', day = '', fraction = '', zone = ''] = match ?? [];
  const millis = Date.parse(second + zone);
  if (Number.isNaN(millis) || !isOfCalendar(second, day)) {
    throw new RangeError(`not an RFC 3339 time: ${text}`);
  }
  return BigInt(millis) * 1_000_000n + BigInt(fraction.padEnd(9, '0'));
}

/** JavaScript takes the 30th of February for the 2nd of March, and hour 24 for midnight. */
function isOfCalendar(second: string, day: string): boolean {
  const millis = Date.parse(`${second}Z`);
  return !Number.isNaN(millis) && new Date(millis).toISOString().startsWith(`${day}T`);
}
