import type { NoteSummary } from '../../occurrences/occurrence.ts';
import type { NoteMetadata } from '../schema/metadata.ts';

/** What a note is to a registry (OCI image-spec 1.1, "Guidelines for Artifact Usage"). */
export const NOTE_TYPES = {
  artifact: 'application/vnd.berth.note.v1',
  metadata: 'application/vnd.berth.note.metadata.v1+json',
  text: 'text/markdown',
} as const;

/** A note of a repository. Records `note/<repository's id>/<digest of its manifest>`. */
export interface Note {
  /** Of the hub, counted up: it stays when the note is replaced. */
  id: number;
  /** Of its manifest. */
  digest: string;
  /** Digest of the manifest that it is about, which need not be there; null = the repository as a whole. */
  subject: string | null;
  metadata: NoteMetadata;
  title: string | null;
  /** Digest of its Markdown, a blob. */
  markdown: string;
  createdMs: number;
  updatedMs: number;
}

export function noteSummary({ id, digest, subject, title, metadata }: Note): NoteSummary {
  return { id, digest, subject, title, metadata };
}
