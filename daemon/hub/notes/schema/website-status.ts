import type { NoteMetadata } from './metadata.ts';

/** What somebody who checks knows of websites; undefined = nobody checks them. */
export type WebsiteStatus = (websites: readonly string[]) => 'up' | 'down' | undefined;

/**
 * Metadata with the status of its website as it is now. Where nobody checks it, it stays as it was written: so does the
 * note itself, whose bytes have a digest. Pure.
 */
export function withWebsiteStatus(metadata: NoteMetadata, statusOf: WebsiteStatus): NoteMetadata {
  const { website, 'website-meta': about } = metadata;
  const status = about === undefined || website === undefined ? undefined : statusOf([website].flat());
  return about === undefined || status === undefined
    ? metadata
    : { ...metadata, 'website-meta': { ...about, status } };
}
