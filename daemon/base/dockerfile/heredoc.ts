import type { Dialect } from './dialect.ts';
import type { Heredoc } from './instruction.ts';

/** `<<` before its lines are read. */
export interface HeredocStart {
  name: string;
  fd: number;
  expands: boolean;
  takesTabs: boolean;
}

const WITH_HEREDOCS = new Set(['RUN', 'COPY', 'ADD']);
const START = /^(\d*)<<(?:(-)|[ \t]*)(?!<)(?:"([^"<>\s]+)"|'([^'<>\s]+)'|([^"'<>\s|&;()]+))/;
/** What may not begin a here-document: a quoted text, an escaped character. */
const OTHER = /^(?:"(?:\\[^]|[^"\\])*"|'[^']*'|\\[^]|<<<)/;

/**
 * Those that an instruction begins, in order. `text` is what follows its name; ONBUILD has those of the instruction
 * that it keeps. An instruction whose arguments are a JSON array has none. Pure.
 */
export function heredocStarts(instruction: string, text: string): HeredocStart[] {
  if (!text.includes('<<')) {
    return [];
  }
  if (instruction === 'ONBUILD') {
    const [, word = '', after = ''] = /^\s*(\S+)(?:\s+([^]*))?$/.exec(text) ?? [];
    return word.toUpperCase() === 'ONBUILD' ? [] : heredocStarts(word.toUpperCase(), after);
  }
  if (!WITH_HEREDOCS.has(instruction) || isJsonArray(text)) {
    return [];
  }
  const found: HeredocStart[] = [];
  let at = 0;
  let isBoundary = true;
  while (at < text.length) {
    const rest = text.slice(at, at + HEREDOC_START_MAX);
    const start = isBoundary ? START.exec(rest) : null;
    if (start !== null) {
      const [all, fd = '', dash = '', double, single, plain] = start;
      found.push({
        name: double ?? single ?? plain ?? '',
        fd: Number(fd),
        expands: plain !== undefined,
        takesTabs: dash !== '',
      });
      at += all.length;
      isBoundary = false;
      continue;
    }
    const skipped = OTHER.exec(rest)?.[0].length ?? 1;
    isBoundary = /\s/.test(text[at] ?? '');
    at += skipped;
  }
  return found;
}

/** The start that a word is; undefined = it is none, or more than one. Pure. */
export function heredocWord(word: string): HeredocStart | undefined {
  const [all] = START.exec(word) ?? [];
  return all === word ? heredocStarts('COPY', word)[0] : undefined;
}

/** Flags before it are no part of it. */
function isJsonArray(text: string): boolean {
  const rest = text.replace(/^(?:\s*--\S+)*\s*/, '');
  if (!rest.startsWith('[')) {
    return false;
  }
  try {
    return Array.isArray(JSON.parse(rest));
  } catch {
    // A command named `[`.
    return false;
  }
}

/** A start is looked for in this many characters: names are short, and a long line costs no square of its length. */
const HEREDOC_START_MAX = 4096;

/** Reads contents from `lines[next]` on; answers the line after the last end. Throws where the file ends before. */
export function readHeredocs(
  dialect: Dialect,
  starts: readonly HeredocStart[],
  { lines, next }: { lines: readonly string[]; next: number },
): { heredocs: Heredoc[]; next: number } {
  const heredocs: Heredoc[] = [];
  let at = next;
  for (const { name, fd, expands, takesTabs } of starts) {
    const written: string[] = [];
    for (;;) {
      const line = lines[at];
      if (line === undefined) {
        throw dialect.error(next, `unterminated heredoc ${name}`);
      }
      at += 1;
      if (withoutTabs(line.replace(/\r+$/, ''), takesTabs) === name) {
        break;
      }
      written.push(`${line}\n`);
    }
    const content = written.map((line) => withoutTabs(line, takesTabs)).join('');
    heredocs.push({ name, fd, expands, content, written: written.join('') });
  }
  return { heredocs, next: at };
}

function withoutTabs(line: string, takesTabs: boolean): string {
  return takesTabs ? line.replace(/^\t+/, '') : line;
}

/** Throws where the lines of one follow, which would be taken for instructions. A shell's own `<<` is left alone. */
export function refuseHeredocs(
  dialect: Dialect,
  starts: readonly HeredocStart[],
  { lines, next, line }: { lines: readonly string[]; next: number; line: number },
): void {
  for (const { name } of starts) {
    if (lines.slice(next).some((later) => later.trim() === name)) {
      throw dialect.error(line, `here-documents (<<${name}) are not supported yet`);
    }
  }
}
