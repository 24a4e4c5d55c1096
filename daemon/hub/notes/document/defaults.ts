import type { Manifest } from '../../registry/manifests/manifest.ts';
import { limits } from '../../../base/limits.ts';
import { judgeMetadata } from '../schema/validate.ts';
import type { NoteMetadata } from '../schema/metadata.ts';

/** Which annotations of an image say what (OCI image-spec, "Pre-Defined Annotation Keys"). */
const SOURCES: readonly (readonly [field: string, annotation: string])[] = [
  ['source', 'source'],
  ['repo', 'source'],
  ['website', 'url'],
  ['wiki', 'documentation'],
  ['rev', 'created'],
];

/**
 * What the image says by its annotations, or by its labels, that the note about it does not. What the schema would not
 * take is left out. Pure.
 */
export function defaultsOf(
  { annotations, labels }: Pick<Manifest, 'annotations' | 'labels'>,
  metadata: NoteMetadata,
): NoteMetadata {
  const defaults: Record<string, string> = {};
  for (const [field, annotation] of SOURCES) {
    const key = `org.opencontainers.image.${annotation}`;
    const said = annotations[key] ?? labels[key];
    // A time of RFC 3339 begins with its date.
    const value = field === 'rev' ? said?.slice(0, 10) : said;
    if (
      value !== undefined &&
      value.length <= limits.hubUrlMax &&
      metadata[field] === undefined &&
      judgeMetadata({ [field]: value }).problems === undefined
    ) {
      defaults[field] = value;
    }
  }
  return defaults;
}
