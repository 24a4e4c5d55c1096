import { parseError, type Heredoc } from './instruction.ts';

/** `<<` before its lines are read. */
export interface HeredocStart {
  name: string;
  fd: number;
  expands: boolean;
  takesTabs: boolean;
}

const WITH_HEREDOCS = new Set(['RUN', 'COPY', 'ADD']);
const START = /^(\d*)<<(-?)(?!<)(?:"([^"<>\s]+)"|'([^'<>\s]+)'|([^"'<>\s|&;()]+))/;
/** What may not begin a here-document: a quoted text, an escaped character. */
const OTHER = /^(?:"(?:\\[^]|[^"\\])*"|'[^']*'|\\[^]|<<<)/;

/** Those that an instruction begins, in order. `text` is all of it, flags included. Pure. */
export function heredocStarts(instruction: string, text: string): HeredocStart[] {
  if (!WITH_HEREDOCS.has(instruction) || !text.includes('<<')) {
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

/** A start is looked for in this many characters: names are short, and a long line costs no square of its length. */
const HEREDOC_START_MAX = 4096;

/** Reads contents from `lines[next]` on; answers the line after the last end. Throws where the file ends before. */
export function readHeredocs(
  starts: readonly HeredocStart[],
  lines: readonly string[],
  next: number,
): { heredocs: Heredoc[]; next: number } {
  const heredocs: Heredoc[] = [];
  let at = next;
  for (const { name, fd, expands, takesTabs } of starts) {
    const content: string[] = [];
    for (;;) {
      const line = lines[at];
      if (line === undefined) {
        throw parseError(next, `unterminated heredoc ${name}`);
      }
      at += 1;
      const taken = takesTabs ? line.replace(/^\t+/, '') : line;
      if (taken === name) {
        break;
      }
      content.push(`${taken}\n`);
    }
    heredocs.push({ name, fd, expands, content: content.join('') });
  }
  return { heredocs, next: at };
}
