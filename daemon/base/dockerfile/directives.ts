import type { Dialect } from './dialect.ts';

/** Comments of the form `# name=value` before anything else. */
export interface Directives {
  /** A backslash or a backtick. */
  escape: string;
  /** The image of a frontend; `''` = none is asked for. */
  syntax: string;
  /** `skip=A,B;error=true`; `''` = not there. */
  check: string;
}

/** Throws invalid_argument naming the line. Pure. */
export function parseDirectives(dialect: Dialect, lines: readonly string[]): Directives {
  const found = new Map<string, string>();
  for (const [index, line] of lines.entries()) {
    const [, name = '', value = ''] = /^#\s*([A-Za-z][A-Za-z0-9]*)\s*=\s*(.+?)\s*$/.exec(line) ?? [];
    const key = name.toLowerCase();
    if (!dialect.directives.includes(key)) {
      break;
    }
    if (found.has(key)) {
      throw dialect.error(index + 1, `only one ${key} parser directive can be used`);
    }
    if (key === 'escape' && value !== '\\' && value !== '`') {
      throw dialect.error(index + 1, `invalid ESCAPE '${value}'. Must be \` or \\`);
    }
    found.set(key, value);
  }
  return {
    escape: found.get('escape') ?? '\\',
    syntax: found.get('syntax') ?? '',
    check: found.get('check') ?? '',
  };
}

/** True for a comment of that form, wherever it stands. */
export function isDirective({ directives }: Dialect, line: string): boolean {
  const [, name = ''] = /^#\s*([A-Za-z][A-Za-z0-9]*)\s*=/.exec(line) ?? [];
  return directives.includes(name.toLowerCase());
}
