import { invalidArgument, type EngineError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';

/** One instruction of a Dockerfile, its continued lines joined. */
export interface Instruction {
  /** Line on which it begins, from 1. */
  line: number;
  /** And on which it ends. */
  endLine: number;
  /** In capitals. */
  name: string;
  /** As progress shows it. */
  text: string;
  /** `--from=x` -> `from: x`, in order of appearance. */
  flags: ReadonlyMap<string, string>;
  /** What follows the flags. */
  rest: string;
}

export interface Dockerfile {
  /** `\` or a backtick. */
  escape: string;
  instructions: readonly Instruction[];
}

const NAMES = new Set(
  (
    'ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL MAINTAINER ONBUILD RUN SHELL STOPSIGNAL USER ' +
    'VOLUME WORKDIR'
  ).split(' '),
);
/** Those that begin with `--name=value`. HEALTHCHECK reads its own. */
const FLAGS: Readonly<Record<string, readonly string[]>> = {
  FROM: ['platform'],
  ADD: ['chown'],
  COPY: ['chown', 'from'],
  RUN: [],
};
const HEREDOC = /(?:^|\s)\d*<<-?\s*(["']?)([A-Za-z_]\w*)\1/g;

/**
 * Takes a Dockerfile apart by the rules of Docker's classic builder: directives on top, comments and empty lines also
 * within continued lines. Throws invalid_argument that names the line. Pure.
 */
export function parseDockerfile(text: string): Dockerfile {
  if (Buffer.byteLength(text) > limits.dockerfileBytesMax) {
    throw invalidArgument(`the Dockerfile is larger than ${limits.dockerfileBytesMax} bytes`);
  }
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const escape = directives(lines);
  const instructions: Instruction[] = [];
  let pending: { line: number; text: string } | undefined;
  for (const [index, line] of lines.entries()) {
    if (/^\s*#/.test(line) || (pending !== undefined && line.trim() === '')) {
      continue;
    }
    const { text: part, continues } = splitContinuation(line, escape);
    pending = pending
      ? { line: pending.line, text: pending.text + part }
      : { line: index + 1, text: part.trimStart() };
    if (!continues || index === lines.length - 1) {
      add(instructions, { ...pending, endLine: index + 1 }, lines);
      pending = undefined;
    }
  }
  if (pending !== undefined) {
    add(instructions, { ...pending, endLine: lines.length }, lines);
  }
  if (instructions.length === 0) {
    throw parseError(undefined, 'file with no instructions');
  }
  return { escape, instructions };
}

/** One instruction on its own, as ONBUILD keeps it. */
export function parseInstruction(text: string, line: number, endLine = line): Instruction {
  const [, word = '', after = ''] = /^(\S+)(?:\s+([^]*))?$/.exec(text.trim()) ?? [];
  const name = word.toUpperCase();
  if (!NAMES.has(name)) {
    throw parseError(line, `unknown instruction: ${name}`);
  }
  const { flags, rest } = takeFlags(name, after, line);
  if (rest === '') {
    throw parseError(line, `${name} requires at least one argument`);
  }
  return { line, endLine, name, text: text.trim(), flags, rest };
}

/** `dockerfile parse error line 3: ...`, as dockerd says it. */
export function parseError(line: number | undefined, problem: string): EngineError {
  return invalidArgument(`dockerfile parse error${line === undefined ? '' : ` line ${line}`}: ${problem}`, {
    details: { line },
  });
}

/** The escape character: directives are comments of the form `# name=value` before anything else. */
function directives(lines: readonly string[]): string {
  let escape = '\\';
  const seen = new Set<string>();
  for (const [index, line] of lines.entries()) {
    const [, name = '', value = ''] = /^#\s*([A-Za-z][A-Za-z0-9]*)\s*=\s*(.+?)\s*$/.exec(line) ?? [];
    const key = name.toLowerCase();
    if (key !== 'escape' && key !== 'syntax') {
      return escape;
    }
    if (seen.has(key)) {
      throw parseError(index + 1, `only one ${key} parser directive can be used`);
    }
    seen.add(key);
    if (key === 'escape') {
      if (value !== '\\' && value !== '`') {
        throw parseError(index + 1, `invalid ESCAPE '${value}'. Must be \` or \\`);
      }
      escape = value;
    }
  }
  return escape;
}

function splitContinuation(line: string, escape: string): { text: string; continues: boolean } {
  const trimmed = line.replace(/[ \t]+$/, '');
  return trimmed.endsWith(escape)
    ? { text: trimmed.slice(0, -1), continues: true }
    : { text: line, continues: false };
}

function add(
  instructions: Instruction[],
  { line, endLine, text }: { line: number; endLine: number; text: string },
  lines: readonly string[],
): void {
  if (text.trim() === '') {
    return;
  }
  if (instructions.length >= limits.dockerfileInstructionsMax) {
    throw parseError(line, `more than ${limits.dockerfileInstructionsMax} instructions`);
  }
  const instruction = parseInstruction(text, line, endLine);
  refuseHeredoc(instruction, lines);
  instructions.push(instruction);
}

/** Their lines would be taken for instructions. A shell's own `<<` on one line is left alone. */
function refuseHeredoc({ name, rest, line }: Instruction, lines: readonly string[]): void {
  if (name !== 'RUN' && name !== 'COPY' && name !== 'ADD') {
    return;
  }
  for (const [, , word] of rest.matchAll(HEREDOC)) {
    if (lines.slice(line).some((later) => later.trim() === word)) {
      throw parseError(line, `here-documents (<<${word}) are not supported yet`);
    }
  }
}

function takeFlags(
  name: string,
  text: string,
  line: number,
): { flags: ReadonlyMap<string, string>; rest: string } {
  const flags = new Map<string, string>();
  const known = FLAGS[name];
  let rest = text.trim();
  if (known === undefined) {
    return { flags, rest };
  }
  for (;;) {
    const [all, flag = '', value = ''] = /^--([^\s=]*)(?:=(\S*))?(?:\s+|$)/.exec(rest) ?? [];
    if (all === undefined) {
      break;
    }
    rest = rest.slice(all.length);
    if (flag === '') {
      break;
    }
    if (!known.includes(flag)) {
      throw parseError(
        line,
        `Unknown flag: ${flag}${BUILDKIT_FLAGS.has(flag) ? ' (not supported yet)' : ''}`,
      );
    }
    if (flags.has(flag)) {
      throw parseError(line, `Duplicate flag specified: ${flag}`);
    }
    flags.set(flag, value);
  }
  return { flags, rest };
}

const BUILDKIT_FLAGS = new Set([
  'mount',
  'network',
  'security',
  'link',
  'chmod',
  'parents',
  'exclude',
  'keep-git-dir',
]);
