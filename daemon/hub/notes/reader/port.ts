import type { NoteDocument } from '../document/document.ts';
import type { InvalidField } from '../../../base/invalid-fields.ts';

/** A note as it is sent: whole, or in its parts. */
export interface NoteParts {
  /** With its front matter; then there is nothing else. */
  markdown?: string;
  metadata?: Readonly<Record<string, unknown>>;
  text?: string;
}

/** A right note, or all that is wrong with it. */
export type ReadNote =
  | { document: NoteDocument; problems?: undefined }
  | { problems: readonly InvalidField[] };

/** Reads what strangers have written. How long that takes is up to them, so no answer comes at once. */
export interface NoteReader {
  read(parts: NoteParts): Promise<ReadNote>;
  /** The note in the configuration and the layer of a pushed manifest. */
  unpack(config: Uint8Array, layer: Uint8Array): Promise<ReadNote>;
  /** Markdown as HTML that is safe to show; undefined = it takes too long to be made. */
  render(text: string): Promise<string | undefined>;
}
