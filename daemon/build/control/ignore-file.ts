import { invalidArgument } from '../../base/errors.ts';
import { cleanPattern } from '../../base/dockerfile/ignore.ts';

/**
 * The patterns of a `.dockerignore`, as the client is to apply them: one a line, without comments, cleaned, `!` kept.
 * The client refuses what it cannot read, but for an exception of nothing: invalid_argument. Pure.
 */
export function ignorePatterns(text: string): string[] {
  return text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .flatMap((line) => {
      const trimmed = line.trim();
      const isException = trimmed.startsWith('!');
      if (trimmed === '!') {
        throw invalidArgument('.dockerignore: illegal exclusion pattern: "!"');
      }
      const pattern = cleanPattern(isException ? trimmed.slice(1).trim() : trimmed);
      return pattern === '' ? [] : [isException ? `!${pattern}` : pattern];
    });
}
