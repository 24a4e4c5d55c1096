const UNITS: readonly [unit: string, nanos: number][] = [
  ['ns', 1],
  ['us', 1e3],
  ['µs', 1e3],
  ['ms', 1e6],
  ['s', 1e9],
  ['m', 60e9],
  ['h', 3600e9],
];
const NANOS = new Map(UNITS);

/** Nanoseconds of a duration as Go programs write it (`1m30s`, `500ms`, `1.5h`); undefined when it is none. Pure. */
export function parseDuration(text: string): number | undefined {
  if (!/^(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$/.test(text)) {
    return text === '0' ? 0 : undefined;
  }
  let nanos = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)) {
    nanos += Number(amount) * (NANOS.get(unit ?? '') ?? 0);
  }
  return Math.round(nanos);
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
