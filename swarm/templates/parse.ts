import { unreachable } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { templateError } from './errors.ts';
import type { Operand, Pipeline, TemplateNode } from './syntax.ts';
import { tokenize, type Piece, type Token } from './tokens.ts';

/** Words that begin or end a block; `define`, `template`, `block`, `break` and `continue` are not supported. */
const OPENING = new Set(['if', 'with', 'range']);
const UNSUPPORTED = new Set(['define', 'template', 'block', 'break', 'continue']);

type ActionPiece = Extract<Piece, { kind: 'action' }>;

/**
 * Parses a template of Go's text/template: text, pipelines, variables, `if`, `with`, `range`, `else`. Throws
 * invalid_argument in Go's form.
 */
export function parseTemplate(template: string): TemplateNode[] {
  const pieces = new Pieces(tokenize(template));
  const { nodes, end } = parseList(pieces, 0);
  if (end !== undefined) {
    throw templateError(end.line, `unexpected {{${end.text}}}`);
  }
  return nodes;
}

class Pieces {
  readonly #pieces: readonly Piece[];
  #next = 0;
  line = 1;

  constructor(pieces: readonly Piece[]) {
    this.#pieces = pieces;
  }

  take(): Piece | undefined {
    const piece = this.#pieces[this.#next];
    this.#next += 1;
    this.line = piece?.kind === 'action' ? piece.line : this.line;
    return piece;
  }
}

/** Nodes up to an `else` or `end` of the block around them, which is answered, or to the template's end. */
function parseList(pieces: Pieces, depth: number): { nodes: TemplateNode[]; end: ActionPiece | undefined } {
  const nodes: TemplateNode[] = [];
  for (let piece = pieces.take(); piece !== undefined; piece = pieces.take()) {
    if (piece.kind === 'text') {
      nodes.push(piece);
      continue;
    }
    const word = piece.tokens[0]?.kind === 'name' ? piece.tokens[0].text : '';
    if (word === 'else' || word === 'end') {
      return { nodes, end: piece };
    }
    if (UNSUPPORTED.has(word)) {
      throw templateError(piece.line, `{{${word}}} is not supported here`);
    }
    nodes.push(
      OPENING.has(word)
        ? parseBlock(pieces, piece, depth + 1)
        : { kind: 'action', pipeline: parsePipeline(piece, 0) },
    );
  }
  return { nodes, end: undefined };
}

function parseBlock(pieces: Pieces, piece: ActionPiece, depth: number): TemplateNode {
  if (depth > limits.swarmTemplateDepthMax) {
    throw templateError(piece.line, `blocks are nested deeper than ${limits.swarmTemplateDepthMax}`);
  }
  // One of OPENING.
  const kind = piece.tokens[0]?.text as 'if' | 'with' | 'range';
  const pipeline = parsePipeline(piece, 1);
  const body = parseList(pieces, depth);
  const end = body.end ?? unexpectedEnd(pieces);
  if (end.tokens[0]?.text === 'end') {
    return { kind, pipeline, body: body.nodes, otherwise: [] };
  }
  const [, chained] = end.tokens;
  if (chained !== undefined) {
    if (kind !== 'if' || chained.text !== 'if') {
      throw templateError(end.line, `unexpected <${chained.text}> in else`);
    }
    const inner = parseBlock(pieces, { ...end, tokens: end.tokens.slice(1) }, depth + 1);
    return { kind, pipeline, body: body.nodes, otherwise: [inner] };
  }
  const otherwise = parseList(pieces, depth);
  const last = otherwise.end ?? unexpectedEnd(pieces);
  if (last.tokens[0]?.text !== 'end') {
    throw templateError(last.line, 'expected end; found {{else}}');
  }
  return { kind, pipeline, body: body.nodes, otherwise: otherwise.nodes };
}

function unexpectedEnd(pieces: Pieces): never {
  throw templateError(pieces.line, 'unexpected EOF');
}

function parsePipeline(piece: ActionPiece, skip: number): Pipeline {
  const tokens = piece.tokens.slice(skip);
  const parser = new PipelineParser(tokens, piece);
  const pipeline = parser.pipeline(0);
  if (parser.peek() !== undefined) {
    throw templateError(piece.line, `unexpected <${parser.peek()?.text}> in command`);
  }
  return pipeline;
}

class PipelineParser {
  readonly #tokens: readonly Token[];
  readonly #piece: ActionPiece;
  #next = 0;

  constructor(tokens: readonly Token[], piece: ActionPiece) {
    this.#tokens = tokens;
    this.#piece = piece;
  }

  peek(ahead = 0): Token | undefined {
    return this.#tokens[this.#next + ahead];
  }

  pipeline(depth: number): Pipeline {
    const { line, text } = this.#piece;
    if (depth > limits.swarmTemplateDepthMax) {
      throw templateError(line, `parentheses are nested deeper than ${limits.swarmTemplateDepthMax}`);
    }
    const { variables, isAssignment } = this.#variables();
    const commands: Operand[][] = [];
    for (;;) {
      const command = this.#command(depth);
      if (command.length === 0) {
        throw templateError(line, 'missing value for command');
      }
      commands.push(command);
      if (this.peek()?.text !== '|') {
        return { variables, isAssignment, commands, text, line };
      }
      this.#next += 1;
    }
  }

  #variables(): { variables: string[]; isAssignment: boolean } {
    const [first, second, third, fourth] = [0, 1, 2, 3].map((ahead) => this.peek(ahead));
    if (first?.kind !== 'variable') {
      return { variables: [], isAssignment: false };
    }
    if (isSet(second)) {
      this.#next += 2;
      return { variables: [first.text], isAssignment: second?.text === '=' };
    }
    if (second?.text === ',' && third?.kind === 'variable' && isSet(fourth)) {
      this.#next += 4;
      return { variables: [first.text, third.text], isAssignment: fourth?.text === '=' };
    }
    return { variables: [], isAssignment: false };
  }

  #command(depth: number): Operand[] {
    const operands: Operand[] = [];
    for (let token = this.peek(); token !== undefined; token = this.peek()) {
      if (token.text === '|' || token.text === ')') {
        break;
      }
      operands.push(this.#operand(token, depth));
    }
    return operands;
  }

  #operand(token: Token, depth: number): Operand {
    const from = this.#next;
    this.#next += 1;
    const base = this.#base(token, depth);
    const fields = token.kind === 'field' ? [token.text.slice(1)] : [];
    let place: number | undefined;
    for (let next = this.peek(); next?.kind === 'field' && !next.spaced; next = this.peek()) {
      fields.push(next.text.slice(1));
      place ??= next.at;
      this.#next += 1;
    }
    const words = this.#tokens.slice(from, this.#next).map(({ text }) => text);
    return { base, fields, text: words.join(''), at: place ?? token.at };
  }

  #base(token: Token, depth: number): Operand['base'] {
    const { line } = this.#piece;
    switch (token.kind) {
      case 'string':
        return { kind: 'literal', value: unquoted(token.text, line) };
      case 'number':
        return { kind: 'literal', value: Number(token.text) };
      case 'variable':
        return { kind: 'variable', name: token.text };
      case 'dot':
      case 'field':
        return { kind: 'dot' };
      case 'name':
        return named(token.text);
      case 'sign':
        return this.#parentheses(token, depth);
      default:
        return unreachable(token.kind);
    }
  }

  #parentheses(token: Token, depth: number): Operand['base'] {
    const { line } = this.#piece;
    if (token.text !== '(') {
      throw templateError(line, `unexpected <${token.text}> in operand`);
    }
    const pipeline = this.pipeline(depth + 1);
    if (this.peek()?.text !== ')') {
      throw templateError(line, 'unclosed left paren');
    }
    this.#next += 1;
    return { kind: 'pipeline', pipeline };
  }
}

function isSet(token: Token | undefined): boolean {
  return token?.text === ':=' || token?.text === '=';
}

const CONSTANTS = new Map([
  ['true', true],
  ['false', false],
  ['nil', null],
]);

function named(text: string): Operand['base'] {
  const constant = CONSTANTS.get(text);
  return constant === undefined ? { kind: 'function', name: text } : { kind: 'literal', value: constant };
}

const ESCAPES = new Map(Object.entries({ n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', f: '\f', v: '\v' }));

/** A string of Go: raw in backquotes, else with its escapes. */
function unquoted(text: string, line: number): string {
  if (text.startsWith('`')) {
    return text.slice(1, -1);
  }
  return text.slice(1, -1).replaceAll(/\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)/gs, (_all, escape: string) => {
    if (escape.length > 1) {
      return String.fromCodePoint(Number.parseInt(escape.slice(1), 16));
    }
    const character = escape === '"' || escape === '\\' ? escape : ESCAPES.get(escape);
    if (character === undefined) {
      throw templateError(line, `invalid syntax in ${text}`);
    }
    return character;
  });
}
