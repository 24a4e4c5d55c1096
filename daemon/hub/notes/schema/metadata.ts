/** Metadata of a note that the schema has found right. */
export interface NoteMetadata {
  application?: { category: string; [field: string]: unknown };
  'website-meta'?: { category: string; status?: 'down' | 'up' | null };
  website?: string | readonly string[];
  rev?: string;
  tags?: readonly string[];
  aliases?: readonly string[];
  repo?: string | readonly string[];
  source?: string;
  wiki?: string;
  [field: string]: unknown;
}

/** The categories that a note is found by: of its application and of its website. */
export function categoriesOf(metadata: NoteMetadata): string[] {
  return [metadata.application?.category, metadata['website-meta']?.category].filter(
    (category) => category !== undefined,
  );
}
