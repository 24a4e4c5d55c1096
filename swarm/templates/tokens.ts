import { limits } from '../../daemon/base/limits.ts';
import { templateError } from './errors.ts';

/** A word of an action. `spaced`: blanks came before it, which end the fields of the word before. */
export interface Token {
  kind: 'string' | 'number' | 'name' | 'field' | 'variable' | 'dot' | 'sign';
  text: string;
  /** Where it begins in the template. */
  at: number;
  spaced: boolean;
}

export type Piece =
  | { kind: 'text'; text: string }
  | { kind: 'action'; text: string; tokens: Token[]; line: number };

const ACTION_TOKENS: readonly [Token['kind'], RegExp][] = [
  ['string', /"(?:[^"\\\n]|\\.)*"|`[^`]*`/y],
  ['number', /[+-]?\d+(?:\.\d+)?(?![\w])/y],
  ['variable', /\$\w*/y],
  ['field', /\.[A-Za-z_]\w*/y],
  ['dot', /\./y],
  ['name', /[A-Za-z_]\w*/y],
  ['sign', /:=|[=|(),]/y],
];
const BLANK = /\s+/y;

/** Cuts a template into text and actions; `{{-` and `-}}` take the blanks beside them away, comments are left out. */
export function tokenize(template: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  let isTrimmed = false;
  let line = 1;
  let actions = 0;
  for (;;) {
    const open = template.indexOf('{{', at);
    const raw = template.slice(at, open === -1 ? undefined : open);
    const trimsBefore = open !== -1 && /^-\s/.test(template.slice(open + 2, open + 4));
    const text = trimmed(raw, { start: isTrimmed, end: trimsBefore });
    if (text !== '') {
      pieces.push({ kind: 'text', text });
    }
    if (open === -1) {
      return pieces;
    }
    line += newlines(raw);
    const action = readAction(template, open + (trimsBefore ? 3 : 2), line);
    if (action.tokens !== undefined) {
      actions += 1;
      // Each takes two, of a pipeline and of its command: such a template is not read to its end.
      if (2 * actions > limits.swarmTemplateStepsMax) {
        throw templateError(line, `the template takes more than ${limits.swarmTemplateStepsMax} steps`);
      }
      pieces.push({ kind: 'action', text: action.text, tokens: action.tokens, line });
    }
    line += newlines(template.slice(open, action.end));
    at = action.end;
    isTrimmed = action.isTrimmed;
  }
}

function trimmed(text: string, at: { start: boolean; end: boolean }): string {
  const started = at.start ? text.trimStart() : text;
  return at.end ? started.trimEnd() : started;
}

interface Action {
  text: string;
  /** Undefined for a comment. */
  tokens: Token[] | undefined;
  end: number;
  isTrimmed: boolean;
}

/** `start` is behind the opening braces. */
function readAction(template: string, start: number, line: number): Action {
  const comment = /\s*\/\*/y;
  comment.lastIndex = start;
  if (comment.test(template)) {
    return readComment(template, comment.lastIndex, line);
  }
  const tokens: Token[] = [];
  for (let at = start; ;) {
    const spaces = match(BLANK, template, at);
    const next = at + spaces.length;
    const isTrimmed = spaces !== '' && template.startsWith('-}}', next);
    if (isTrimmed || template.startsWith('}}', next)) {
      const text = template.slice(start, at).trim();
      return { text, tokens, end: next + (isTrimmed ? 3 : 2), isTrimmed };
    }
    const token = readToken(template, next, line);
    tokens.push({ ...token, at: next, spaced: spaces !== '' });
    at = next + token.text.length;
  }
}

function readComment(template: string, start: number, line: number): Action {
  const close = template.indexOf('*/', start);
  const end = /\*\/(\s+-)?\}\}/y;
  end.lastIndex = close;
  const found = close === -1 ? null : end.exec(template);
  if (found === null) {
    throw templateError(line, close === -1 ? 'unclosed comment' : 'comment ends before closing delimiter');
  }
  return { text: '', tokens: undefined, end: end.lastIndex, isTrimmed: found[1] !== undefined };
}

function readToken(template: string, at: number, line: number): Pick<Token, 'kind' | 'text'> {
  if (at >= template.length) {
    throw templateError(line, 'unclosed action');
  }
  for (const [kind, pattern] of ACTION_TOKENS) {
    const text = match(pattern, template, at);
    if (text !== '') {
      return { kind, text };
    }
  }
  const character = String.fromCodePoint(template.codePointAt(at) ?? 0);
  throw templateError(line, `unexpected ${JSON.stringify(character)} in command`);
}

function match(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? '';
}

function newlines(text: string): number {
  return text.split('\n').length - 1;
}
