import { invalidArgument } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { parseDirectives, type Directives } from './directives.ts';
import { takeFlags } from './flags.ts';
import { heredocStarts, readHeredocs } from './heredoc.ts';
import { parseError, type Heredoc, type Instruction, type Lines } from './instruction.ts';

export interface Dockerfile {
  directives: Directives;
  instructions: readonly Instruction[];
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
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const directives = parseDirectives(lines);
  const instructions: Instruction[] = [];
  let next = 0;
  while (next < lines.length) {
    const joined = joinLines(lines, next, directives.escape);
    next = joined.next;
    if (joined.text.trim() === '') {
      continue;
    }
    if (instructions.length >= limits.dockerfileInstructionsMax) {
      throw parseError(joined.from, `more than ${limits.dockerfileInstructionsMax} instructions`);
    }
    const read = readHeredocs(heredocStarts(firstWord(joined.text), joined.text), lines, next);
    next = read.next;
    const range = { from: joined.from, to: read.heredocs.length > 0 ? next : joined.to };
    instructions.push(parseInstruction(joined.text, range, read.heredocs));
  }
  if (instructions.length === 0) {
    throw invalidArgument('file with no instructions');
  }
  return { directives, instructions };
}

/** One instruction on its own, as ONBUILD keeps it. Throws invalid_argument. Pure. */
export function parseInstruction(text: string, lines: Lines, heredocs: readonly Heredoc[] = []): Instruction {
  const trimmed = text.trim();
  const [word = ''] = /^\S+/.exec(trimmed) ?? [];
  const name = word.toUpperCase();
  if (!NAMES.has(name)) {
    throw parseError(lines.from, `unknown instruction: ${word}`);
  }
  const after = trimmed.slice(word.length).trim();
  const { flags, rest } = takeFlags(name, after, lines.from);
  if (rest === '') {
    throw parseError(lines.from, `${name} requires at least one argument`);
  }
  return { lines, name, word, text: `${name} ${after}`, flags, rest, heredocs };
}

function firstWord(text: string): string {
  return /^\s*(\S+)/.exec(text)?.[1]?.toUpperCase() ?? '';
}

/** From line `start` on (from 0) to the first that is not continued, without comments and empty lines in between. */
function joinLines(
  lines: readonly string[],
  start: number,
  escape: string,
): Lines & { text: string; next: number } {
  const parts: string[] = [];
  let to = start + 1;
  let at = start;
  for (; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    if (/^\s*#/.test(line) || (parts.length > 0 && line.trim() === '')) {
      if (parts.length > 0) {
        continue;
      }
      break;
    }
    to = at + 1;
    const trimmed = line.trimEnd();
    if (!trimmed.endsWith(escape)) {
      parts.push(line);
      break;
    }
    parts.push(trimmed.slice(0, -1));
  }
  return { from: start + 1, to, text: parts.join(''), next: at + 1 };
}
