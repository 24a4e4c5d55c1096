import { createHash } from 'node:crypto';
import type { Descriptor } from '../../occurrences/occurrence.ts';
import { MEDIA_TYPES } from '../../registry/manifests/manifest.ts';
import { titleOf, type NoteDocument } from '../document/document.ts';
import { NOTE_TYPES } from './note.ts';

/** A note as a registry keeps it. */
export interface PackedNote {
  /** Of the manifest. */
  digest: string;
  manifest: Buffer;
  blobs: readonly (Descriptor & { bytes: Buffer })[];
}

/** The same document about the same subject is the same bytes. Pure. */
export function packNote(document: NoteDocument, subject: Descriptor | undefined): PackedNote {
  const config = blobOf(NOTE_TYPES.metadata, Buffer.from(JSON.stringify(document.metadata)));
  const text = blobOf(NOTE_TYPES.text, Buffer.from(document.markdown));
  const title = titleOf(document);
  const manifest = {
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.ociManifest,
    artifactType: NOTE_TYPES.artifact,
    config: descriptorOf(config),
    layers: [{ ...descriptorOf(text), annotations: { [TITLE]: 'note.md' } }],
    ...(subject !== undefined && { subject: descriptorOf(subject) }),
    ...(title !== null && { annotations: { [TITLE]: title } }),
  };
  const bytes = Buffer.from(JSON.stringify(manifest));
  return { digest: digestOf(bytes), manifest: bytes, blobs: [config, text] };
}

const TITLE = 'org.opencontainers.image.title';

function blobOf(mediaType: string, bytes: Buffer) {
  return { mediaType, digest: digestOf(bytes), size: bytes.length, bytes };
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

function descriptorOf({ mediaType, digest, size }: Descriptor): Descriptor {
  return { mediaType, digest, size };
}
