import { invalidArgument, isEngineError, type EngineError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Dialect } from './dialect.ts';
import { isDirective, parseDirectives, type Directives } from './directives.ts';
import { takeFlags } from './flags.ts';
import { heredocStarts, readHeredocs, refuseHeredocs } from './heredoc.ts';
import type { Heredoc, Instruction, Lines } from './instruction.ts';

export interface Dockerfile {
  directives: Directives;
  instructions: readonly Instruction[];
  /** Last lines of instructions that have empty lines between continued ones. */
  emptyContinuations: readonly number[];
  /** What is wrong with the first instruction that cannot be read: `instructions` ends before it. */
  broken?: EngineError;
}

const NAMES = (
  'ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL MAINTAINER ONBUILD RUN SHELL STOPSIGNAL USER ' +
  'VOLUME WORKDIR'
).split(' ');

/**
 * Takes a Dockerfile apart: directives, continued lines, comments, flags, here-documents. Throws invalid_argument that
 * names the line, in the words of the dialect. Pure, one pass.
 */
export function parseDockerfile(dialect: Dialect, text: string): Dockerfile {
  const { broken, ...dockerfile } = parseReadable(dialect, text);
  if (broken !== undefined) {
    throw broken;
  }
  return dockerfile;
}

/**
 * The same, where something is to be said of what stands before an instruction that cannot be read. What no line can be
 * taken from is thrown here, too. Pure.
 */
export function parseReadable(dialect: Dialect, text: string): Dockerfile {
  if (Buffer.byteLength(text) > limits.dockerfileBytesMax) {
    throw invalidArgument(`the Dockerfile is larger than ${limits.dockerfileBytesMax} bytes`);
  }
  const lines = text.replace(/^\uFEFF/, '').split('\n');
  const directives = parseDirectives(
    dialect,
    lines.map((line) => line.replace(/\r+$/, '')),
  );
  // Directives are comments too, but none that describes what follows.
  const top = lines.findIndex((line) => !isDirective(dialect, line));
  const instructions: Instruction[] = [];
  const emptyContinuations: number[] = [];
  let comments: string[] = [];
  let broken: EngineError | undefined;
  let next = 0;
  while (next < lines.length) {
    const joined = joinLines(dialect, lines, { start: next, escape: directives.escape });
    next = joined.next;
    comments = joined.next <= top ? [] : withComment(comments, joined.comment);
    if (joined.text.trim() === '') {
      continue;
    }
    if (instructions.length >= limits.dockerfileInstructionsMax) {
      throw dialect.error(joined.from, `more than ${limits.dockerfileInstructionsMax} instructions`);
    }
    if (joined.hasEmptyLine) {
      emptyContinuations.push(joined.to);
    }
    const { name, after } = splitName(joined.text);
    const starts = heredocStarts(name, after);
    let heredocs: Heredoc[] = [];
    if (dialect.hasHeredocs) {
      ({ heredocs, next } = readHeredocs(dialect, starts, { lines, next }));
    } else {
      refuseHeredocs(dialect, starts, { lines, next, line: joined.from });
    }
    const range = { from: joined.from, to: heredocs.length > 0 ? next : joined.to };
    if (broken === undefined) {
      const read = readable(() => parseInstruction(dialect, joined.text, range));
      if (isEngineError(read)) {
        broken = read;
      } else {
        instructions.push({ ...read, heredocs, comments });
      }
    }
    comments = [];
  }
  if (instructions.length === 0 && broken === undefined) {
    throw dialect.error(0, 'file with no instructions');
  }
  return { directives, instructions, emptyContinuations, ...(broken !== undefined && { broken }) };
}

function readable(read: () => Instruction): Instruction | EngineError {
  try {
    return read();
  } catch (error) {
    if (isEngineError(error)) {
      return error;
    }
    throw error;
  }
}

/** One instruction on its own, as ONBUILD keeps it. Throws invalid_argument. Pure. */
export function parseInstruction(dialect: Dialect, text: string, lines: Lines): Instruction {
  const { word, name, after } = splitName(text);
  if (!NAMES.includes(name)) {
    throw dialect.error(lines.from, dialect.words.unknownInstruction(word, NAMES));
  }
  const { flags, rest } = takeFlags(dialect, name, { text: after, line: lines.from });
  if (rest === '' && !dialect.mayBeEmpty.includes(name)) {
    throw dialect.error(lines.from, `${name} requires at least one argument`);
  }
  const written = text.trim();
  return { lines, name, word, written, text: `${name} ${after}`, flags, rest, heredocs: [], comments: [] };
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
function joinLines(
  { continuesAtTwo }: Dialect,
  lines: readonly string[],
  { start, escape }: { start: number; escape: string },
): Joined {
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
    if (!trimmed.endsWith(escape) || (trimmed.at(-2) === escape && !continuesAtTwo)) {
      parts.push(line);
      break;
    }
    parts.push(trimmed.slice(0, -1));
  }
  return { from: start + 1, to, text: parts.join(''), next: at + 1, hasEmptyLine };
}
