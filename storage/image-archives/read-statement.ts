import type { Descriptor } from '../image/descriptor.ts';
import { asArray, asObject, asString, asStringMap, optional, parseJson } from '../image/json.ts';
import { PREDICATE_ANNOTATION, type Attestation } from './statement.ts';

/**
 * A statement as it lies beside an image, in the form in which it is given on; `image`: the digest of the image's
 * manifest there. Throws invalid_argument for what is none. Pure.
 */
export function readStatement(
  bytes: Buffer,
  { digest: where, annotations }: Pick<Descriptor, 'digest' | 'annotations'>,
  image: string,
): Attestation {
  const statement = asObject(parseJson(bytes, where), where);
  const predicateType =
    optional(statement['predicateType'], `${where}.predicateType`, asString) ??
    annotations[PREDICATE_ANNOTATION] ??
    '';
  const predicate = Buffer.from(JSON.stringify(statement['predicate'] ?? {}));
  const subjects = (optional(statement['subject'], `${where}.subject`, asArray) ?? []).map(
    (item, position) => {
      const subject = asObject(item, `${where}.subject[${position}]`);
      return {
        name: optional(subject['name'], `${where}.subject[${position}].name`, asString) ?? '',
        digest: optional(subject['digest'], `${where}.subject[${position}].digest`, asStringMap) ?? {},
      };
    },
  );
  // What is about the image is said of it by the digest that it has where it goes; what is about something else stays.
  const isOfImage = subjects.every(({ digest }) => `sha256:${digest['sha256'] ?? ''}` === image);
  return { predicateType, predicate, ...(!isOfImage && { subjects }), fileName: '', isInlineOnly: false };
}
