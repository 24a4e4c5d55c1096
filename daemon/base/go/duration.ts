const UNITS: readonly [unit: string, nanos: bigint][] = [
  ['ns', 1n],
  ['us', 1_000n],
  // Two letters that look the same: U+00B5 and U+03BC.
  ['µs', 1_000n],
  ['μs', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
];
const NANOS = new Map(UNITS);
const PART = '(\\d+(?:\\.\\d*)?|\\.\\d+)(ns|us|µs|μs|ms|s|m|h)';
const DURATION = new RegExp(`^([+-]?)(0|(?:${PART})+)$`);
const NANOS_MAX = 2n ** 63n - 1n;

/**
 * Nanoseconds of a duration as Go programs write it (`1m30s`, `-1.5h`, `.5s`; time.ParseDuration); undefined when it is
 * none, or longer than 292 years. Pure.
 */
export function parseDuration(text: string): bigint | undefined {
  const [, sign, parts = ''] = DURATION.exec(text) ?? [];
  if (sign === undefined) {
    return undefined;
  }
  let nanos = 0n;
  for (const [, amount = '', unit = ''] of parts.matchAll(new RegExp(PART, 'g'))) {
    const [whole = '', fraction = ''] = amount.split('.');
    const unitNanos = NANOS.get(unit) ?? 0n;
    nanos += BigInt(whole) * unitNanos + (BigInt(fraction) * unitNanos) / 10n ** BigInt(fraction.length);
  }
  if (nanos > NANOS_MAX) {
    return undefined;
  }
  return sign === '-' ? -nanos : nanos;
}

/** Nanoseconds as Go prints them: `500ms`, `30s`, `1m30s`, `1h0m0s`. Pure. */
export function formatDuration(nanos: number): string {
  if (nanos === 0) {
    return '0s';
  }
  if (nanos < 1e9) {
    const [unit, size] = nanos < 1e3 ? ['ns', 1] : nanos < 1e6 ? ['µs', 1e3] : ['ms', 1e6];
    return `${nanos / size}${unit}`;
  }
  const hours = Math.floor(nanos / 3600e9);
  const minutes = Math.floor((nanos % 3600e9) / 60e9);
  const seconds = (nanos % 60e9) / 1e9;
  return `${hours > 0 ? `${hours}h` : ''}${hours > 0 || minutes > 0 ? `${minutes}m` : ''}${seconds}s`;
}
