import { renderMarkdown } from '../../../../daemon/hub/notes/rendering/markdown.ts';
import { unpackNote } from '../../../../daemon/hub/notes/artifact/unpack.ts';
import type { NoteParts, NoteReader, ReadNote } from '../../../../daemon/hub/notes/reader/port.ts';
import { readParts } from '../../../../daemon/hub/notes/reader/work.ts';

/** {@link NoteReader} without a thread: one for each hub would cost more than the test of it. */
export class OwnNoteReader implements NoteReader {
  read(parts: NoteParts): Promise<ReadNote> {
    return Promise.resolve(readParts(parts));
  }

  unpack(config: Uint8Array, layer: Uint8Array): Promise<ReadNote> {
    return Promise.resolve(unpackNote(config, layer));
  }

  render(text: string): Promise<string> {
    return Promise.resolve(renderMarkdown(text));
  }
}
