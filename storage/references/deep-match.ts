import { matchPattern } from './match.ts';

/** A component of a pattern that stands for any number of directories, also none; at the end, for any name. */
const ANY_DEPTH = '**';

/** Components of a pattern; what they mean one by one is matchPattern's. */
export function isAnyDepth(parts: readonly string[], index: number): boolean {
  return parts[index] === ANY_DEPTH && index < parts.length - 1;
}

/** True when a path matches a pattern in which `**` is any number of directories, both in their components. Pure. */
export function matchDeep(pattern: readonly string[], path: readonly string[]): boolean {
  const [part, ...rest] = pattern;
  const [name, ...below] = path;
  if (part === undefined) {
    return name === undefined;
  }
  if (isAnyDepth(pattern, 0)) {
    return matchDeep(rest, path) || (name !== undefined && matchDeep(pattern, below));
  }
  return name !== undefined && matchPattern(part, name) && matchDeep(rest, below);
}

/** Without what lies in another of them: a directory is all that is in it. Paths in components' order stay so. Pure. */
export function outermost(paths: readonly string[]): string[] {
  const all = new Set(paths);
  const isInside = (path: string): boolean => {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      if (all.has(path.slice(0, end))) {
        return true;
      }
    }
    return false;
  };
  return [...all].filter((path) => !isInside(path));
}
