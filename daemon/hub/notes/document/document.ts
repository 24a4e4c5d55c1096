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
  return `---\n${writeFrontMatter(metadata)}---\n${text}`;
}

/** Undefined = front matter begins and does not end. */
export function splitDocument(
  markdown: string,
): { frontMatter: string | undefined; text: string } | undefined {
  const lines = markdown.replace(/^\uFEFF/, '').split(/(?<=\n)/);
  if (!FENCE.test(lines[0] ?? '')) {
    return { frontMatter: undefined, text: lines.join('') };
  }
  const end = lines.findIndex((line, index) => index > 0 && FENCE.test(line));
  return end < 0
    ? undefined
    : { frontMatter: lines.slice(1, end).join(''), text: lines.slice(end + 1).join('') };
}

/** What the note is called: its first heading, else its first alias. Pure. */
export function titleOf({ metadata, text }: Pick<NoteDocument, 'metadata' | 'text'>): string | null {
  const heading = /^ {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$/m.exec(
    text.slice(0, limits.hubNoteTitleSearched),
  )?.[1];
  const title = (heading || metadata.aliases?.[0] || '').trim();
  return title === '' ? null : title.slice(0, limits.hubNoteTitleMax);
}

function wrong(field: string, message: string): ReadDocument {
  return { problems: [{ resource: 'Note', field, code: 'invalid', message }] };
}
