const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
const BAR_WIDTH = 50;

/** Decimal units and four significant digits, as moby's progress shows them: `32.77kB`. */
export function humanSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${Number(value.toPrecision(4))}${UNITS[unit]}`;
}

/** The text of a `progress` field: `[=====>      ]  32.77kB/2.1MB`. */
export function progressBar(current: number, total: number): string {
  const filled = Math.min(BAR_WIDTH, Math.floor((current / Math.max(total, 1)) * BAR_WIDTH));
  const bar = `[${'='.repeat(filled)}>${' '.repeat(BAR_WIDTH - filled)}]`;
  return `${bar} ${humanSize(current).padStart(8)}/${humanSize(total)}`;
}
