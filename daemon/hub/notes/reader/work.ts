import { unreachable } from '../../../base/errors.ts';
import { renderMarkdown } from '../rendering/markdown.ts';
import { unpackNote } from '../artifact/unpack.ts';
import { readDocument, writeDocument } from '../document/document.ts';
import { judgeMetadata } from '../schema/validate.ts';
import type { NoteParts, ReadNote } from './port.ts';

/** One thing to be done with what a stranger has written. */
export type NoteWork =
  | { kind: 'read'; parts: NoteParts }
  | { kind: 'unpack'; config: Uint8Array; layer: Uint8Array }
  | { kind: 'render'; text: string };

export type NoteWorkResult = { kind: 'note'; read: ReadNote } | { kind: 'html'; html: string };

/** Does it, however long it takes. Pure. */
export function doNoteWork(work: NoteWork): NoteWorkResult {
  switch (work.kind) {
    case 'read':
      return { kind: 'note', read: readParts(work.parts) };
    case 'unpack':
      return { kind: 'note', read: unpackNote(work.config, work.layer) };
    case 'render':
      return { kind: 'html', html: renderMarkdown(work.text) };
    default:
      return unreachable(work);
  }
}

/** The parts first as they were sent, so that an error names the field and no line of what is made of them. */
export function readParts({ markdown, metadata, text }: NoteParts): ReadNote {
  const judged = judgeMetadata(metadata ?? {});
  return judged.problems === undefined
    ? readDocument(markdown ?? writeDocument(judged.metadata, text ?? ''))
    : judged;
}
