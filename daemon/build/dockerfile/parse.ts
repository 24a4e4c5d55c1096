import { invalidArgument } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { closest } from './closest.ts';
import { isDirective, parseDirectives, type Directives } from './directives.ts';
import { takeFlags } from './flags.ts';
import { heredocStarts, readHeredocs } from './heredoc.ts';
import { parseError, type Heredoc, type Instruction, type Lines } from './instruction.ts';

export interface Dockerfile {
  directives: Directives;
  instructions: readonly Instruction[];
  /** Last lines of instructions that have empty lines between continued ones. */
  emptyContinuations: readonly number[];
}

const NAMES = new Set(
  (
    'ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL MAINTAINER ONBUILD RUN SHELL STOPSIGNAL USER ' +
    'VOLUME WORKDIR'
  ).split(' '),
);

/**
 * Takes a Dockerfile of BuildKit's clients apart: directives, continued lines, comments, flags, here-documents. Throws
 * invalid_argument that names the line. Pure, one pass.
 */
export function parseDockerfile(text: string): Dockerfile {
  if (Buffer.byteLength(text) > limits.dockerfileBytesMax) {
    throw invalidArgument(`the Dockerfile is larger than ${limits.dockerfileBytesMax} bytes`);
  }
  const lines = text.replace(/^\uFEFF/, '').split('\n');
  const directives = parseDirectives(lines.map((line) => line.replace(/\r+$/, '')));
  // Directives are comments too, but none that describes what follows.
  const top = lines.findIndex((line) => !isDirective(line));
  const instructions: Instruction[] = [];
  const emptyContinuations: number[] = [];
  let comments: string[] = [];
  let next = 0;
  while (next < lines.length) {
    const joined = joinLines(lines, next, directives.escape);
    next = joined.next;
    comments = joined.next <= top ? [] : withComment(comments, joined.comment);
    if (joined.text.trim() === '') {
      continue;
    }
    if (instructions.length >= limits.dockerfileInstructionsMax) {
      throw parseError(joined.from, `more than ${limits.dockerfileInstructionsMax} instructions`);
    }
    if (joined.hasEmptyLine) {
      emptyContinuations.push(joined.to);
    }
    const { name, after } = splitName(joined.text);
    const read = readHeredocs(heredocStarts(name, after), lines, next);
    next = read.next;
    const range = { from: joined.from, to: read.heredocs.length > 0 ? next : joined.to };
    instructions.push(parseInstruction(joined.text, range, read.heredocs, comments));
    comments = [];
  }
  if (instructions.length === 0) {
    throw invalidArgument('file with no instructions');
  }
  return { directives, instructions, emptyContinuations };
}

/** One instruction on its own. Throws invalid_argument. Pure. */
function parseInstruction(
  text: string,
  lines: Lines,
  heredocs: readonly Heredoc[],
  comments: readonly string[],
): Instruction {
  const { word, name, after } = splitName(text);
  if (!NAMES.has(name)) {
    const meant = closest(name, [...NAMES]);
    throw parseError(
      lines.from,
      `unknown instruction: ${word}${meant === undefined ? '' : ` (did you mean ${meant}?)`}`,
    );
  }
  const { flags, rest } = takeFlags(name, after, lines.from);
  if (rest === '') {
    throw parseError(lines.from, `${name} requires at least one argument`);
  }
  return { lines, name, word, text: `${name} ${after}`, flags, rest, heredocs, comments };
}

function splitName(text: string): { word: string; name: string; after: string } {
  const trimmed = text.trim();
  const [word = ''] = /^\S+/.exec(trimmed) ?? [];
  return { word, name: word.toUpperCase(), after: trimmed.slice(word.length).trim() };
}

function withComment(before: string[], line: string | undefined): string[] {
  if (line === undefined) {
    return before;
  }
  const text = line.replace(/^\s*#/, '').trim();
  return text === '' ? [] : [...before, text];
}

interface Joined extends Lines {
  text: string;
  next: number;
  /** The line, where it is a comment of its own. */
  comment?: string;
  hasEmptyLine: boolean;
}

/** From line `start` on (from 0) to the first that is not continued, without comments and empty lines in between. */
function joinLines(lines: readonly string[], start: number, escape: string): Joined {
  const parts: string[] = [];
  const first = lines[start] ?? '';
  if (/^\s*#/.test(first)) {
    return { from: start + 1, to: start + 1, text: '', next: start + 1, comment: first, hasEmptyLine: false };
  }
  let hasEmptyLine = false;
  let to = start + 1;
  let at = start;
  for (; at < lines.length; at += 1) {
    const line = (lines[at] ?? '').replace(/\r+$/, '');
    const isEmpty = line.trim() === '';
    if (parts.length > 0 && (isEmpty || /^\s*#/.test(line))) {
      // What follows the last line's end is no line.
      hasEmptyLine ||= isEmpty && at < lines.length - 1;
      continue;
    }
    to = at + 1;
    const trimmed = line.replace(/[ \t]+$/, '');
    if (!trimmed.endsWith(escape) || trimmed.at(-2) === escape) {
      parts.push(line);
      break;
    }
    parts.push(trimmed.slice(0, -1));
  }
  return { from: start + 1, to, text: parts.join(''), next: at + 1, hasEmptyLine };
}
