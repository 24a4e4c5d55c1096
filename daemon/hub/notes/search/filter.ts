import { refuseInvalid } from '../../../base/invalid-fields.ts';
import { limits } from '../../../base/limits.ts';
import type { Note } from '../artifact/note.ts';
import { categoriesOf } from '../schema/metadata.ts';

/** Of the metadata, each as it is written there; undefined = whatever it is. */
export interface NoteFilter {
  category?: string | undefined;
  tag?: string | undefined;
  alias?: string | undefined;
}

export function fits({ category, tag, alias }: NoteFilter, { metadata }: Pick<Note, 'metadata'>): boolean {
  return (
    (category === undefined || categoriesOf(metadata).includes(category)) &&
    (tag === undefined || metadata.tags?.includes(tag) === true) &&
    (alias === undefined || metadata.aliases?.includes(alias) === true)
  );
}

/** The words of a search. Throws InvalidFieldsError for too much of it. */
export function wordsOf(query: string): string[] {
  const words = query.split(/\s+/).filter((word) => word !== '');
  const { hubSearchLengthMax: length, hubSearchWordsMax: count } = limits;
  refuseInvalid([
    query.length > length || words.length > count
      ? {
          resource: 'Search',
          field: 'q',
          code: 'invalid',
          message: `must be at most ${count} words of ${length} characters together`,
          value: query.slice(0, length),
        }
      : undefined,
  ]);
  return words;
}
