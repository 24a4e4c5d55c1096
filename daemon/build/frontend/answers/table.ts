/** Rows in columns, `gap` blanks between them, as Go's tabwriter sets them: no blanks after a row's last cell. Pure. */
export function table(rows: readonly (readonly string[])[], gap: number): string {
  const count = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(...rows.map((row) => Array.from(row[column] ?? '').length)),
  );
  const lines = rows.map((row) =>
    row
      .map((cell, column) =>
        column === row.length - 1
          ? cell
          : cell + ' '.repeat((widths[column] ?? 0) + gap - Array.from(cell).length),
      )
      .join(''),
  );
  return lines.map((line) => `${line}\n`).join('');
}
