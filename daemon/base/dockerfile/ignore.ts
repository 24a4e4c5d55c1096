import { RE2JS } from 're2js';
import { invalidArgument } from '../errors.ts';
import { limits } from '../limits.ts';

interface Rule {
  matches(path: string): boolean;
  /** `!pattern`: what an earlier rule left out comes back. */
  isException: boolean;
}

/** Tells whether a path of the context is left out. */
export type IgnoreTest = (path: string) => boolean;

/**
 * The rules of a `.dockerignore`: one pattern a line, `#` comments, `!` exceptions, `**` for any number of directories.
 * A pattern that matches a directory matches everything below it; the last rule that matches decides. Paths have no
 * leading slash. Throws invalid_argument for a pattern that cannot be read. Pure.
 */
export function ignoreTest(text: string): IgnoreTest {
  const lines = text.replace(/^\uFEFF/, '').split('\n');
  return patternTest(lines.filter((line) => !line.startsWith('#')));
}

/** The same of patterns that are no lines of a file: none of them is a comment. */
export function patternTest(patterns: readonly string[]): IgnoreTest {
  const rules = patterns.flatMap((pattern) => parseRule(pattern));
  return (path) => {
    const parts = path.split('/');
    let isIgnored = false;
    for (const rule of rules) {
      // As long as it would change nothing, no look is needed.
      if (rule.isException === isIgnored && matches(rule, path, parts)) {
        isIgnored = !rule.isException;
      }
    }
    return isIgnored;
  };
}

function matches(rule: Rule, path: string, parts: readonly string[]): boolean {
  return (
    rule.matches(path) ||
    parts.some((_part, index) => index > 0 && rule.matches(parts.slice(0, index).join('/')))
  );
}

function parseRule(line: string): Rule[] {
  const trimmed = line.trim();
  const isException = trimmed.startsWith('!');
  const pattern = cleanPattern(isException ? trimmed.slice(1).trim() : trimmed);
  if (isException && pattern === '') {
    throw invalidArgument(
      `failed to parse .dockerignore: illegal exclusion pattern: ${JSON.stringify(trimmed)}`,
    );
  }
  return pattern === '' ? [] : [{ matches: matcher(pattern), isException }];
}

/** Without `.`, `..` where it can be taken back, doubled, leading and trailing slashes. */
export function cleanPattern(pattern: string): string {
  const parts: string[] = [];
  for (const part of pattern.split('/')) {
    if (part === '..') {
      parts.pop();
    } else if (part !== '' && part !== '.') {
      parts.push(part);
    }
  }
  return parts.join('/');
}

/** In linear time: a client chose the pattern. */
function matcher(pattern: string): (path: string) => boolean {
  if (pattern.length > limits.filterPatternLengthMax) {
    throw invalidArgument(
      `failed to parse .dockerignore: a pattern is longer than ${limits.filterPatternLengthMax} characters`,
    );
  }
  if (!/[*?[\\]/.test(pattern)) {
    return (path) => path === pattern;
  }
  const expression = compile(pattern);
  return (path) => expression.matches(path);
}

function compile(pattern: string): RE2JS {
  let source = '';
  for (let index = 0; index < pattern.length; index += 1) {
    const character = pattern.charAt(index);
    if (character === '*' && pattern.charAt(index + 1) === '*') {
      while (pattern.charAt(index + 1) === '*') {
        index += 1;
      }
      const isLast = index === pattern.length - 1;
      index += pattern.charAt(index + 1) === '/' ? 1 : 0;
      source += isLast ? '.*' : '(?:.*/)?';
    } else if (character === '*') {
      source += source.endsWith('[^/]*') ? '' : '[^/]*';
    } else if (character === '?') {
      source += '[^/]';
    } else if (character === '[') {
      const end = pattern.indexOf(']', index + 2);
      if (end === -1) {
        throw invalidArgument(
          `failed to parse .dockerignore: syntax error in pattern ${JSON.stringify(pattern)}`,
        );
      }
      source += characterClass(pattern.slice(index + 1, end));
      index = end;
    } else if (character === '\\') {
      index += 1;
      source += quote(pattern.charAt(index));
    } else {
      source += quote(character);
    }
  }
  try {
    return RE2JS.compile(`(?s)${source}`);
  } catch {
    throw invalidArgument(
      `failed to parse .dockerignore: syntax error in pattern ${JSON.stringify(pattern)}`,
    );
  }
}

function characterClass(text: string): string {
  const negated = text.startsWith('^');
  const body = (negated ? text.slice(1) : text).replace(/[\\[\]^]/g, String.raw`\$&`);
  return `[${negated ? '^' : ''}${body}]`;
}

function quote(character: string): string {
  return character.replace(/[.+()|{}^$?*[\]\\/]/g, String.raw`\$&`);
}
