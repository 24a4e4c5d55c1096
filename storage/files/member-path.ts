import { invalidArgument } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { showName } from '../tar/names.ts';

/** Has parts that mean nothing, or lead up. Most names of most archives have none. */
const UNCLEAN = /(?:^|\/)\.{0,2}(?:\/|$)/;

/** The path below the extraction point that a member's name means; `''` is the point itself. */
export function memberPath(name: string, depthMax: number = limits.archiveDepthMax): string {
  if (name === '' || name.includes('\0')) {
    throw invalidArgument(`entry ${showName(name)}: a name must not be empty or hold a NUL character`);
  }
  if (!UNCLEAN.test(name)) {
    refuseDeep(name, name.split('/').length, depthMax);
    return name;
  }
  const parts: string[] = [];
  for (const part of name.split('/')) {
    if (part === '..') {
      if (parts.pop() === undefined) {
        throw invalidArgument(
          `entry ${showName(name)}: ".." would lead out of the directory it is copied to`,
        );
      }
    } else if (part !== '' && part !== '.') {
      parts.push(part);
    }
  }
  const path = parts.join('/');
  refuseDeep(path, parts.length, depthMax);
  return path;
}

/** Throws invalid_argument when the path of a file is longer, or has more directories, than any real one. */
export function refuseDeep(path: string, depth: number, depthMax: number = limits.archiveDepthMax): void {
  const { archivePathBytesMax } = limits;
  if (depth > depthMax) {
    throw invalidArgument(`entry ${showName(path)}: directories nest deeper than ${depthMax}`);
  }
  if (path.length > archivePathBytesMax) {
    throw invalidArgument(`entry ${showName(path)}: a path of more than ${archivePathBytesMax} bytes`);
  }
}
