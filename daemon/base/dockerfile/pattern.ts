import { invalidArgument } from '../errors.ts';
import { limits } from '../limits.ts';

/** A piece of a pattern: one character as it is, `?`, or `*`. Neither of these stands for the end of a line. */
type Piece = { kind: 'char'; char: string } | { kind: 'one' } | { kind: 'any' };

export interface Pattern {
  pieces: readonly Piece[];
  /** What it may still cost: a pattern and a value are as long as their writer likes. */
  steps: { left: number };
}

/**
 * `*` and `?` of `${name#pattern}`; `\` quotes these and itself. Throws invalid_argument for any other use of it. Pure.
 */
export function parsePattern(text: string): Pattern {
  const characters = Array.from(text);
  const pieces: Piece[] = [];
  for (let at = 0; at < characters.length; at += 1) {
    let char = characters[at] ?? '';
    if (char === '\\') {
      at += 1;
      char = characters[at] ?? '';
      if (!'*?\\}/'.includes(char) || char === '') {
        throw invalidArgument(`invalid pattern (${text}) in substitution: invalid escape '\\${char}'`);
      }
      pieces.push({ kind: 'char', char });
    } else {
      pieces.push(char === '*' ? { kind: 'any' } : char === '?' ? { kind: 'one' } : { kind: 'char', char });
    }
  }
  return { pieces, steps: { left: limits.dockerfilePatternStepsMax } };
}

/** `${value#pattern}`, and with `##` (`takesLongest`) the longest beginning that fits. Pure. */
export function withoutPrefix(value: string, pattern: Pattern, takesLongest: boolean): string {
  const characters = Array.from(value);
  return characters.slice(matchedAt(characters, 0, pattern, takesLongest) ?? 0).join('');
}

/** `${value%pattern}`, and with `%%` (`takesLongest`) the longest end that fits. Pure. */
export function withoutSuffix(value: string, pattern: Pattern, takesLongest: boolean): string {
  const characters = Array.from(value).toReversed();
  const reversed = { ...pattern, pieces: pattern.pieces.toReversed() };
  const length = matchedAt(characters, 0, reversed, takesLongest) ?? 0;
  return characters.slice(length).toReversed().join('');
}

/** `${value/pattern/replacement}`: the first place that fits, or with `//` each; the longest of each. Pure. */
export function withReplaced(
  value: string,
  pattern: Pattern,
  { replacement, isAll }: { replacement: string; isAll: boolean },
): string {
  const characters = Array.from(value);
  const made: string[] = [];
  let at = 0;
  let lastEnd = -1;
  while (at <= characters.length) {
    const length = matchedAt(characters, at, pattern, true);
    if (length === undefined || (length === 0 && at === lastEnd)) {
      made.push(characters[at] ?? '');
      at += 1;
      continue;
    }
    made.push(replacement);
    lastEnd = at + length;
    if (length === 0) {
      made.push(characters[at] ?? '');
    }
    at = length === 0 ? at + 1 : lastEnd;
    if (!isAll) {
      break;
    }
  }
  return made.join('') + characters.slice(at).join('');
}

/**
 * Length of the shortest or longest match that begins at `start`; undefined = none does. All ways through the pattern
 * are followed at once, so that no pattern costs more than its length times that of the value.
 */
function matchedAt(
  characters: readonly string[],
  start: number,
  { pieces, steps }: Pattern,
  takesLongest: boolean,
): number | undefined {
  let open = withSkipped(pieces, [0]);
  let found: number | undefined;
  for (let at = start; open.length > 0; at += 1) {
    steps.left -= open.length;
    if (steps.left < 0) {
      throw invalidArgument('a pattern in a substitution is too long for its value');
    }
    if (open.includes(pieces.length)) {
      found = at - start;
      if (!takesLongest) {
        break;
      }
    }
    const char = characters[at];
    open = char === undefined ? [] : withSkipped(pieces, advanced(pieces, open, char));
  }
  return found;
}

function advanced(pieces: readonly Piece[], open: readonly number[], char: string): number[] {
  return open.flatMap((position) => {
    const piece = pieces[position];
    if (piece?.kind === 'char') {
      return piece.char === char ? [position + 1] : [];
    }
    return piece === undefined || char === '\n' ? [] : [piece.kind === 'any' ? position : position + 1];
  });
}

/** A `*` may stand for nothing. */
function withSkipped(pieces: readonly Piece[], positions: readonly number[]): number[] {
  const all = new Set<number>();
  for (const position of positions) {
    let at = position;
    while (!all.has(at)) {
      all.add(at);
      if (pieces[at]?.kind !== 'any') {
        break;
      }
      at += 1;
    }
  }
  return [...all];
}
