import { invalidArgument } from '../../../base/errors.ts';

export interface Token {
  kind: 'name' | 'literal' | 'number' | 'compare' | 'sign';
  text: string;
  /** Of a literal. */
  value?: unknown;
}

const FORMS: readonly [Token['kind'], RegExp][] = [
  ['compare', /==|!=|<=|>=|<|>/y],
  ['sign', /\[\?|\[\]|\|\||&&|[.*[\](){}|,:@&!]/y],
  ['number', /-?\d+/y],
  ['name', /[A-Za-z_]\w*/y],
  ['name', /"(?:[^"\\]|\\.)*"/y],
  ['literal', /'(?:[^'\\]|\\.)*'/y],
  ['literal', /`(?:[^`\\]|\\.)*`/y],
];

/** The parts of a JMESPath query. Throws invalid_argument. Pure. */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length;) {
    if (/\s/.test(text[at] ?? '')) {
      at += 1;
      continue;
    }
    const token = tokenAt(text, at);
    tokens.push(token.token);
    at += token.length;
  }
  return tokens;
}

function tokenAt(text: string, at: number): { token: Token; length: number } {
  for (const [kind, form] of FORMS) {
    form.lastIndex = at;
    const [found] = form.exec(text) ?? [];
    if (found !== undefined) {
      return { token: made(kind, found), length: found.length };
    }
  }
  throw invalidArgument(`--query: ${JSON.stringify(text)} is no query, near ${text.slice(at, at + 10)}`);
}

function made(kind: Token['kind'], text: string): Token {
  if (text.startsWith('"')) {
    return { kind, text: String(JSON.parse(text)) };
  }
  if (text.startsWith("'")) {
    return { kind, text, value: text.slice(1, -1).replaceAll("\\'", "'") };
  }
  if (text.startsWith('`')) {
    const inside = text.slice(1, -1).replaceAll('\\`', '`');
    try {
      return { kind, text, value: JSON.parse(inside) };
    } catch {
      // Older queries leave the quotes of a text away.
      return { kind, text, value: inside };
    }
  }
  return { kind, text };
}
