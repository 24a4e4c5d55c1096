import { limits } from '../../daemon/base/limits.ts';
import type { DocumentAnnotations } from '../database/manifest-list-rows.ts';
import type { Descriptor } from '../image/descriptor.ts';
import { asStringMap, optional, wrong, type JsonObject } from '../image/json.ts';

/** What programs write beside a descriptor of an image on its way: its name, where it came from, when it was made. */
const OF_THE_WAY = new Set([
  'io.containerd.image.name',
  'org.opencontainers.image.ref.name',
  'org.opencontainers.image.created',
  'config.digest',
]);
/** By registry. */
const SOURCE = 'containerd.io/distribution.source.';

/**
 * The annotations of a manifest or an index, and those that its descriptor has for good; undefined = there are none.
 * Throws invalid_argument for more than are kept. Pure.
 */
export function documentAnnotations(
  document: JsonObject,
  { digest, annotations }: Pick<Descriptor, 'digest' | 'annotations'>,
): DocumentAnnotations | undefined {
  const own = optional(document['annotations'], `${digest}.annotations`, asStringMap) ?? {};
  const descriptor = Object.fromEntries(
    Object.entries(annotations).filter(([name]) => !OF_THE_WAY.has(name) && !name.startsWith(SOURCE)),
  );
  return keptAnnotations(digest, { own, descriptor });
}

/** The same; undefined = there are none. Throws invalid_argument for more than are kept. Pure. */
export function keptAnnotations(
  what: string,
  annotations: DocumentAnnotations,
): DocumentAnnotations | undefined {
  const { own, descriptor } = annotations;
  if (Object.keys(own).length + Object.keys(descriptor).length === 0) {
    return undefined;
  }
  const bytes = Buffer.byteLength(JSON.stringify(annotations));
  if (bytes > limits.annotationsBytesMax) {
    throw wrong(what, `annotations of ${bytes} bytes, at most ${limits.annotationsBytesMax} are kept`);
  }
  return annotations;
}

/** Of the OCI image specification, not Docker's. Pure. */
export function isOciType(mediaType: string): boolean {
  return mediaType.startsWith('application/vnd.oci.');
}
