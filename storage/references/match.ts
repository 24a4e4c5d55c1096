import { invalidArgument, unreachable } from '../../daemon/base/errors.ts';

/**
 * True when `name` matches a shell pattern as Go's path.Match understands it: `*` and `?` do not match `/`, `[a-z]`
 * and `[^a-z]` are classes, `\` quotes. Takes at most pattern times name steps. Throws invalid_argument for a pattern
 * that is malformed.
 */
export function matchPattern(pattern: string, name: string): boolean {
  const parts = splitPattern(pattern).map((part) => parsePart(part, pattern));
  const segments = name.split('/');
  return (
    parts.length === segments.length &&
    parts.every((tokens, index) => matchSegment(tokens, segments[index] ?? ''))
  );
}

type Token =
  | { kind: 'star' }
  | { kind: 'any' }
  | { kind: 'class'; negated: boolean; ranges: [string, string][] }
  | { kind: 'literal'; character: string };

/** At slashes that are not quoted or inside a class. */
function splitPattern(pattern: string): string[] {
  const parts = [''];
  let inClass = false;
  for (let index = 0; index < pattern.length; index += 1) {
    const character = pattern.charAt(index);
    if (character === '/' && !inClass) {
      parts.push('');
      continue;
    }
    inClass = character === '[' || (inClass && character !== ']');
    const quoted = character === '\\' ? pattern.charAt((index += 1)) : '';
    parts[parts.length - 1] += character + quoted;
  }
  return parts;
}

function parsePart(part: string, pattern: string): Token[] {
  const tokens: Token[] = [];
  let rest = part;
  while (rest !== '') {
    const [token, length] = nextToken(rest, pattern);
    tokens.push(token);
    rest = rest.slice(length);
  }
  return tokens;
}

function nextToken(text: string, pattern: string): [Token, number] {
  switch (text.charAt(0)) {
    case '*':
      return [{ kind: 'star' }, 1];
    case '?':
      return [{ kind: 'any' }, 1];
    case '\\':
      if (text.length < 2) {
        throw badPattern(pattern);
      }
      return [{ kind: 'literal', character: text.charAt(1) }, 2];
    case '[':
      return parseClass(text, pattern);
    default:
      return [{ kind: 'literal', character: text.charAt(0) }, 1];
  }
}

function parseClass(text: string, pattern: string): [Token, number] {
  const negated = text.charAt(1) === '^';
  const ranges: [string, string][] = [];
  let index = negated ? 2 : 1;
  const take = (): string => {
    index += text.charAt(index) === '\\' ? 1 : 0;
    const character = text.charAt(index);
    if (character === '') {
      throw badPattern(pattern);
    }
    index += 1;
    return character;
  };
  while (text.charAt(index) !== ']' || ranges.length === 0) {
    const low = take();
    let high = low;
    if (text.charAt(index) === '-') {
      index += 1;
      high = take();
    }
    ranges.push([low, high]);
  }
  return [{ kind: 'class', negated, ranges }, index + 1];
}

/** Greedy with one place to come back to: the last star, because an earlier one never needs to give way again. */
function matchSegment(tokens: readonly Token[], text: string): boolean {
  let token = 0;
  let position = 0;
  let star = -1;
  let starPosition = 0;
  while (position < text.length) {
    const current = tokens[token];
    if (current?.kind === 'star') {
      star = token;
      starPosition = position;
      token += 1;
    } else if (current !== undefined && matchOne(current, text.charAt(position))) {
      token += 1;
      position += 1;
    } else if (star !== -1) {
      starPosition += 1;
      position = starPosition;
      token = star + 1;
    } else {
      return false;
    }
  }
  return tokens.slice(token).every((rest) => rest.kind === 'star');
}

function matchOne(token: Token, character: string): boolean {
  switch (token.kind) {
    case 'class':
      return token.ranges.some(([low, high]) => low <= character && character <= high) !== token.negated;
    case 'literal':
      return token.character === character;
    case 'any':
    case 'star':
      return true;
    default:
      return unreachable(token);
  }
}

function badPattern(pattern: string): Error {
  return invalidArgument(`syntax error in pattern ${JSON.stringify(pattern)}`);
}
