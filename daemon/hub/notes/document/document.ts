import type { InvalidField } from '../../../base/invalid-fields.ts';
import { limits } from '../../../base/limits.ts';
import { judgeMetadata } from '../schema/validate.ts';
import type { NoteMetadata } from '../schema/metadata.ts';
import { readFrontMatter, writeFrontMatter } from './front-matter.ts';

/** A note: Markdown with front matter. */
export interface NoteDocument {
  metadata: NoteMetadata;
  /** Markdown behind the front matter. */
  text: string;
  /** All of it, as it was written. */
  markdown: string;
}

export type ReadDocument =
  | { document: NoteDocument; problems?: undefined }
  | { problems: readonly InvalidField[] };

const FENCE = /^---[ \t]*(\r?\n)?$/;

/** Reads a note. A document without front matter has no metadata, which is right too. Pure. */
export function readDocument(markdown: string): ReadDocument {
  const size = Buffer.byteLength(markdown);
  if (size > limits.hubNoteBytesMax) {
    return wrong('markdown', `must be at most ${limits.hubNoteBytesMax} bytes, it has ${size}`);
  }
  const parts = splitDocument(markdown);
  if (parts === undefined) {
    return wrong('front-matter', 'begins with --- and does not end with a line --- of its own');
  }
  const read = parts.frontMatter === undefined ? { value: {} } : readFrontMatter(parts.frontMatter);
  if (read.problems !== undefined) {
    return read;
  }
  const judged = judgeMetadata(read.value);
  return judged.problems === undefined
    ? { document: { metadata: judged.metadata, text: parts.text, markdown } }
    : judged;
}

/** The note of metadata and a text. Throws nothing: `readDocument` says whether it is one. */
export function writeDocument(metadata: object, text: string): string {
  const isBare = Object.keys(metadata).length === 0 && fenceEnd(text, 0) === undefined;
  return isBare ? text : `---\n${writeFrontMatter(metadata)}---\n${text}`;
}

/** Undefined = front matter begins and does not end. Takes as long as front matter is, however long the text is. */
export function splitDocument(
  markdown: string,
): { frontMatter: string | undefined; text: string } | undefined {
  const whole = markdown.startsWith('\uFEFF') ? markdown.slice(1) : markdown;
  const begin = fenceEnd(whole, 0);
  if (begin === undefined) {
    return { frontMatter: undefined, text: whole };
  }
  for (let at = begin; at >= 0 && at < whole.length; at = lineAfter(whole, at)) {
    const end = fenceEnd(whole, at);
    if (end !== undefined) {
      return { frontMatter: whole.slice(begin, at), text: whole.slice(end) };
    }
  }
  return undefined;
}

/** Where the line behind a fence begins that begins at `at`; undefined = there is none. */
function fenceEnd(text: string, at: number): number | undefined {
  if (!text.startsWith('---', at)) {
    return undefined;
  }
  const feed = text.indexOf('\n', at);
  const line = text.slice(at, feed < 0 ? text.length : feed + 1);
  return FENCE.test(line) ? at + line.length : undefined;
}

/** Below 0 = there is none. */
function lineAfter(text: string, at: number): number {
  const feed = text.indexOf('\n', at);
  return feed < 0 ? feed : feed + 1;
}

/** What the note is called: its first heading, else its first alias. Pure. */
export function titleOf({ metadata, text }: Pick<NoteDocument, 'metadata' | 'text'>): string | null {
  const lines = text.slice(0, limits.hubNoteTitleSearched).split('\n');
  const title = firstOf(lines, headingOf) ?? metadata.aliases?.[0]?.trim() ?? '';
  return title === '' ? null : title.slice(0, limits.hubNoteTitleMax);
}

/** Undefined = it is none, or an empty one. In steps: an expression for all of it takes minutes for 4 KB of blanks. */
function headingOf(line: string): string | undefined {
  const marks = /^ {0,3}#{1,6}[ \t]/.exec(line)?.[0];
  if (marks === undefined) {
    return undefined;
  }
  const inside = line.slice(marks.length).trim();
  let end = inside.length;
  while (inside[end - 1] === '#') {
    end -= 1;
  }
  return inside.slice(0, end).trim() || undefined;
}

function firstOf<T, U>(items: readonly T[], of: (item: T) => U | undefined): U | undefined {
  for (const item of items) {
    const found = of(item);
    if (found !== undefined) {
      return found;
    }
  }
  return undefined;
}

function wrong(field: string, message: string): ReadDocument {
  return { problems: [{ resource: 'Note', field, code: 'invalid', message }] };
}
