/** One row of the table. Values are medians in `unit`; undefined where that engine did not take part. */
export interface Result {
  name: string;
  what: string;
  unit: 'ms' | 'us' | 'kB';
  target: number | null;
  berth: number | undefined;
  docker: number | undefined;
  /** True where `docker` is of something else that has its place. */
  otherThanDocker?: boolean;
  ratio: number | undefined;
  /** Of berthd while the workload ran (both engines' turns); the limit is 20. */
  loopDelayP99Ms: number | undefined;
  /** Of berthd meanwhile, its largest resident set; the limit is 300. */
  peakRssMb: number | undefined;
  missed: boolean;
}

export function median(values: readonly number[]): number | undefined {
  const sorted = [...values].toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle];
  const lower = sorted[middle - 1];
  if (upper === undefined) {
    return undefined;
  }
  return sorted.length % 2 === 1 || lower === undefined ? upper : (lower + upper) / 2;
}

export function printTable(results: readonly Result[]): void {
  const header = ['workload', 'berth', 'dockerd', 'unit', 'ratio', 'target', 'loop p99', 'peak RSS', ''];
  const rows = results.map((result) => [
    `${result.name}: ${result.what}`,
    number(result.berth),
    number(result.docker),
    result.unit,
    number(result.ratio),
    result.target === null ? '-' : `<= ${number(result.target)}`,
    result.loopDelayP99Ms === undefined ? '-' : `${number(result.loopDelayP99Ms)} ms`,
    result.peakRssMb === undefined ? '-' : `${number(result.peakRssMb)} MB`,
    result.missed ? 'MISSED' : '',
  ]);
  const widths = header.map((_, column) =>
    Math.max(...[header, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  for (const row of [header, ...rows]) {
    console.log(
      row
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    );
  }
  const missed = results.filter((result) => result.missed).length;
  console.log(missed === 0 ? 'every target reached' : `${missed} missed`);
}

/** Three digits or so; `-` for none. */
export function number(value: number | undefined): string {
  if (value === undefined) {
    return '-';
  }
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** `412 ms`, `2.8 s`, `68.0 MB`, `88.0 us`. */
export function amount(value: number | undefined, unit: Result['unit']): string {
  if (value === undefined) {
    return '';
  }
  const large = { us: 'ms', ms: 's', kB: 'MB' }[unit];
  return value >= 1000 ? `${number(value / 1000)} ${large}` : `${number(value)} ${unit}`;
}
