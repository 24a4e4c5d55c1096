import type { AttestationStatement } from '../../../api/types/image.ts';
import type { ManifestListRow } from '../../../storage/database/rows.ts';
import { PREDICATE_ANNOTATION, STATEMENT_MEDIA_TYPE } from '../../../storage/image-archives/statement.ts';
import type { ImageContext } from '../context.ts';
import type { ImageRecord } from '../image-index.ts';
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
  const listed = list.images.find(({ imageId }) => imageId === image.row.id);
  const { digest } = describeListed(context, image, { ...listed, isOci }).descriptor;
  const attestations = attestationsIn(context, list.id, image.row.id);
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
