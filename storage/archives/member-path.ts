import { invalidArgument } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { showName } from '../layers/tar/names.ts';

/** The path below the extraction point that a member's name means; `''` is the point itself. */
export function memberPath(name: string): string {
  if (name === '' || name.includes('\0')) {
    throw invalidArgument(`entry ${showName(name)}: a name must not be empty or hold a NUL character`);
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
  if (parts.length > limits.archiveDepthMax) {
    throw invalidArgument(`entry ${showName(name)}: directories nest deeper than ${limits.archiveDepthMax}`);
  }
  return parts.join('/');
}
