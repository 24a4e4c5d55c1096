/** Rows of objects in columns, with their names above: `last_seen` is shown as `LAST SEEN`. */
export function textTable(columns: readonly string[], rows: readonly unknown[]): string {
  const cells = [
    columns.map((column) => column.replaceAll('_', ' ').toUpperCase()),
    ...rows.map((row) => columns.map((column) => cellOf(Object(row)[column]))),
  ];
  const widths = columns.map((_column, index) => Math.max(...cells.map((row) => row[index]?.length ?? 0)));
  return cells
    .map(
      (row) =>
        `${row
          .map((cell, index) => cell.padEnd(widths[index] ?? 0))
          .join('   ')
          .trimEnd()}\n`,
    )
    .join('');
}

function cellOf(value: unknown): string {
  if (Array.isArray(value)) {
    return value.join(',');
  }
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '-';
}
