import { stringify as stringifyYaml } from 'yaml';

export const OUTPUTS = ['json', 'yaml', 'text', 'table'] as const;
export type Output = (typeof OUTPUTS)[number];

/** An answer as the original's tool shows it. Pure. */
export function shown(value: unknown, output: Output): string {
  if (output === 'json') {
    return value === undefined ? '' : `${JSON.stringify(value, undefined, 4)}\n`;
  }
  if (output === 'yaml') {
    return stringifyYaml(value);
  }
  return output === 'text' ? `${textLines(value, '').join('\n')}\n` : tableOf(value);
}

/** Tab-separated: scalars of an object in the order of their names, then what is inside it, its name before it. */
function textLines(value: unknown, name: string): string[] {
  if (Array.isArray(value) && value.length === 0) {
    return [];
  }
  if (Array.isArray(value)) {
    return value.every(isScalar)
      ? [[name, ...value.map(scalarText)].filter((part) => part !== '').join('\t')]
      : value.flatMap((item: unknown) => textLines(item, name));
  }
  if (isScalar(value)) {
    return [[name, scalarText(value)].filter((part) => part !== '').join('\t')];
  }
  const entries = Object.entries(Object(value)).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const scalars = entries.filter(([, part]) => isScalar(part)).map(([, part]) => scalarText(part));
  const inside = entries.filter(([, part]) => !isScalar(part));
  const line = scalars.length === 0 ? [] : [[name, ...scalars].filter((part) => part !== '').join('\t')];
  return [...line, ...inside.flatMap(([key, part]) => textLines(part, key.toUpperCase()))];
}

function tableOf(value: unknown): string {
  const rows = rowsOf(value);
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cells = [columns, ...rows.map((row) => columns.map((column) => row[column] ?? ''))];
  const widths = columns.map((_column, index) => Math.max(...cells.map((row) => row[index]?.length ?? 0)));
  const rule = `+${widths.map((width) => '-'.repeat(width + 2)).join('+')}+`;
  const lines = cells.map(
    (row) => `|${row.map((cell, index) => ` ${cell.padEnd(widths[index] ?? 0)} `).join('|')}|`,
  );
  const [head = '', ...rest] = lines;
  return `${[rule, head, rule, ...rest, rule].join('\n')}\n`;
}

/** One row for an object, one each for the objects of a list; what is inside has dotted names. */
function rowsOf(value: unknown): Record<string, string>[] {
  const items: unknown = Object(value)['items'];
  const list: unknown[] = Array.isArray(value) ? value : Array.isArray(items) ? items : [value];
  return list.map((item) => Object.fromEntries(flat(item, '')));
}

function flat(value: unknown, name: string): [string, string][] {
  if (isScalar(value)) {
    return [[name === '' ? 'value' : name, scalarText(value)]];
  }
  return Object.entries(Object(value)).flatMap(([key, part]) =>
    flat(part, name === '' ? key : `${name}.${key}`),
  );
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

function scalarText(value: unknown): string {
  if (value === null || value === undefined) {
    return 'None';
  }
  if (typeof value === 'boolean') {
    return value ? 'True' : 'False';
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}
