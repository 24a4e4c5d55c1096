import type { AttestationStatement } from '../../../api/types/image.ts';
import type { ManifestListRow } from '../../../storage/database/manifest-list-rows.ts';
import { PREDICATE_ANNOTATION, STATEMENT_MEDIA_TYPE } from '../../../storage/image-archives/statement.ts';
import { parseJson } from '../../../storage/image/json.ts';
import { notFound } from '../../base/errors.ts';
import type { ImageContext } from '../context.ts';
import type { ImageRecord } from '../image-index.ts';
import { originalStatements } from './originals.ts';
import { attestationsIn } from './attestations.ts';
import { describeListed, statementsAbout } from './describe.ts';

/**
 * What is said of an image in a list, as the hub of this host would have it. `types`: only predicates of these, none =
 * all. An image alone has nothing.
 */
export function shownStatements(
  context: ImageContext,
  image: ImageRecord,
  {
    list,
    types,
    statement,
  }: { list: ManifestListRow | undefined; types: readonly string[]; statement: boolean },
): AttestationStatement[] {
  if (list === undefined) {
    return [];
  }
  const { isOci, names } = list;
  if (list.index !== undefined) {
    return toldStatements(context, image, { list, types, statement });
  }
  const listed = list.images.find(({ imageId }) => imageId === image.row.id);
  const { digest } = describeListed(context, image, { ...listed, isOci }).descriptor;
  const attestations = attestationsIn(context, list, image.row.id);
  const { blobs = [] } = statementsAbout(image, attestations, { names, digest, isOci }) ?? {};
  return blobs.flatMap(({ descriptor, bytes }) => {
    const { mediaType, size, annotations = {} } = descriptor;
    const predicate = annotations[PREDICATE_ANNOTATION] ?? '';
    if (mediaType !== STATEMENT_MEDIA_TYPE || (types.length > 0 && !types.includes(predicate))) {
      return [];
    }
    return {
      Descriptor: { mediaType, digest: descriptor.digest, size, annotations },
      PredicateType: predicate,
      // Made by us.
      ...(statement && { Statement: JSON.parse(bytes.toString('utf8')) as unknown }),
    };
  });
}

/** As a registry has them, word for word. Throws not_found for the text of one that did not come with the image. */
function toldStatements(
  context: ImageContext,
  image: ImageRecord,
  { list, types, statement }: { list: ManifestListRow; types: readonly string[]; statement: boolean },
): AttestationStatement[] {
  const listed = list.images.find(({ imageId }) => imageId === image.row.id);
  const { blobs = [] } = (listed && originalStatements(context, list, listed)) ?? {};
  return blobs.flatMap(({ descriptor: { mediaType, digest, size, annotations }, bytes }) => {
    const predicate = annotations[PREDICATE_ANNOTATION] ?? '';
    if (predicate === '' || (types.length > 0 && !types.includes(predicate))) {
      return [];
    }
    if (statement && bytes === undefined) {
      throw notFound(`attestation statement ${digest} (${predicate}) is not here: only provenance is pulled`);
    }
    return {
      Descriptor: { mediaType, digest, size, annotations },
      PredicateType: predicate,
      ...(statement && bytes && { Statement: parseJson(bytes, digest) }),
    };
  });
}
