import type { StatementBlob } from './oci-documents.ts';
import { formatPlatform, type Platform } from '../image/platform.ts';
import { packageUrl } from './package-url.ts';
import {
  digestSet,
  PREDICATE_ANNOTATION,
  STATEMENT_MEDIA_TYPE,
  statementsOf,
  type Attestation,
} from './statement.ts';

/** What is said of an image with this manifest and these names, as it lies beside it. Pure. */
export function imageStatements(
  { attestations, platform }: { attestations: readonly Attestation[]; platform: Platform },
  { names, digest }: { names: readonly string[]; digest: string },
): StatementBlob[] {
  const subjects = names.map((name) => ({
    name: packageUrl(name, formatPlatform(platform)),
    digest: digestSet(digest),
  }));
  return statementsOf(attestations, subjects, { isIndented: false }).map(({ predicateType, bytes }) => ({
    mediaType: STATEMENT_MEDIA_TYPE,
    bytes,
    annotations: { [PREDICATE_ANNOTATION]: predicateType },
  }));
}
