import type { HubNote } from '../../../api/types/hub/notes.ts';
import type { Note } from '../notes/artifact/note.ts';
import type { NoteMetadata } from '../notes/schema/metadata.ts';
import type { Repository } from '../repositories/repository.ts';
import type { Addresses } from './addresses.ts';
import { timeText } from './times.ts';

/** What is known of its subject. */
export interface SubjectFacts {
  tags: readonly string[];
  defaults: NoteMetadata;
}

export function noteView(
  note: Note,
  { owner, name }: Pick<Repository, 'owner' | 'name'>,
  { tags, defaults }: SubjectFacts,
  addresses: Addresses,
): HubNote {
  const fullName = `${owner.name}/${name}`;
  return {
    id: note.id,
    url: `${addresses.base}/repos/${fullName}/notes/${note.id}`,
    html_url: `${addresses.base}/${fullName}/notes/${note.id}`,
    repository: fullName,
    digest: note.digest,
    subject: note.subject === null ? null : { digest: note.subject, tags },
    title: note.title,
    metadata: note.metadata,
    defaults,
    created_at: timeText(note.createdMs),
    updated_at: timeText(note.updatedMs),
  };
}
