import { asArray, asObject, asString, parseJson } from '../../../storage/image/json.ts';
import type { Attestation, Subject } from '../../../storage/image-archives/statement.ts';
import type { ManifestListRow } from '../../../storage/database/manifest-list-rows.ts';
import type { ImageContext } from '../context.ts';
import { originalAttestations } from './originals.ts';

/** What is said of an image as its row keeps it; null = nothing. Pure. */
export function attestationsText(attestations: readonly Attestation[]): string | null {
  return attestations.length === 0
    ? null
    : JSON.stringify(
        attestations.map(({ predicateType, predicate, subjects }) => ({
          predicateType,
          predicate: predicate.toString('utf8'),
          ...(subjects && { subjects }),
        })),
      );
}

/** What is said of an image of a list. */
export function attestationsIn(
  context: Pick<ImageContext, 'database'>,
  list: ManifestListRow,
  imageId: string,
): Attestation[] {
  const listed = list.images.find((each) => each.imageId === imageId);
  if (list.index !== undefined && listed !== undefined) {
    return originalAttestations(context, list, listed);
  }
  const text = context.database.manifestLists.attestations(list.id, imageId);
  return text === undefined ? [] : readAttestations(text);
}

/** Pure. */
function readAttestations(text: string): Attestation[] {
  return asArray(parseJson(Buffer.from(text), 'attestations'), 'attestations').map((item) => {
    const said = asObject(item, 'attestation');
    const predicate = Buffer.from(asString(said['predicate'], 'predicate'));
    return {
      predicateType: asString(said['predicateType'], 'predicateType'),
      predicate,
      // Written by us alone.
      ...(said['subjects'] !== undefined && { subjects: said['subjects'] as readonly Subject[] }),
      fileName: '',
      isInlineOnly: false,
    };
  });
}
