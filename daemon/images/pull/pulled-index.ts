import { documentAnnotations } from '../../../storage/image-archives/annotations.ts';
import { readStatement } from '../../../storage/image-archives/read-statement.ts';
import { PREDICATE_ANNOTATION, STATEMENT_MEDIA_TYPE } from '../../../storage/image-archives/statement.ts';
import type { DocumentAnnotations } from '../../../storage/database/manifest-list-rows.ts';
import { readLayers, type Descriptor } from '../../../storage/image/descriptor.ts';
import { asObject, parseJson } from '../../../storage/image/json.ts';
import type { RemoteRepository } from '../../../storage/registry/repository.ts';
import { canonicalRepository, type Reference } from '../../../storage/references/reference.ts';
import { isEngineError } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import type { ImageContext } from '../context.ts';
import type { PulledIndex, PulledStatements } from '../lists/join-list.ts';
import type { Resolved } from './resolve.ts';

/** What engines look at of what is said of images; other statements are only named (as by dockerd). */
const PROVENANCE = 'https://slsa.dev/provenance/';

/** What is said of an image, on its way beside its layers. Disposing of it ends that. */
export class StatementFetch implements AsyncDisposable {
  /** Undefined: there is nothing, or it could not be had. */
  readonly result: Promise<PulledStatements | undefined>;
  readonly #stop = new AbortController();

  constructor(
    { index, log }: Pick<ImageContext, 'index' | 'log'>,
    { repository, index: pulled, imageDigest }: Resolved,
    signal: AbortSignal,
  ) {
    const about = pulled?.all.find((each) => isAbout(each, imageDigest));
    const listed = index.lists
      .get(pulled?.digest ?? '')
      ?.images.find(({ manifest }) => manifest === imageDigest);
    const any = AbortSignal.any([signal, this.#stop.signal]);
    this.result =
      about === undefined || listed?.statements?.digest === about.digest
        ? Promise.resolve(undefined)
        : fetchStatements(repository, { about, imageDigest }, any).catch((error: unknown) => {
            // The image is worth having without.
            if (!any.aborted) {
              log.warn({ err: error, digest: about.digest }, 'what is said of an image could not be pulled');
            }
            return undefined;
          });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.result;
  }
}

/** The manifest of what is said of an image. Pure. */
export function isAbout({ annotations }: Descriptor, image: string): boolean {
  return (
    annotations['vnd.docker.reference.type'] === 'attestation-manifest' &&
    annotations['vnd.docker.reference.digest'] === image
  );
}

/** Throws for what could not be given on: a statement that is none. */
async function fetchStatements(
  repository: RemoteRepository,
  { about: { digest, size }, imageDigest }: { about: Descriptor; imageDigest: string },
  signal: AbortSignal,
): Promise<PulledStatements> {
  const manifest = await repository.document(digest, signal);
  failpoint('images.pull.statements');
  const document = asObject(parseJson(manifest, digest), digest);
  const layers = readLayers(document, digest).filter(({ annotations }) =>
    (annotations[PREDICATE_ANNOTATION] ?? '').startsWith(PROVENANCE),
  );
  let left: number = limits.attestationBytesMax;
  const wanted = [...layers, ...readLayers({ layers: [document['config']] }, digest)].filter((blob) => {
    left -= blob.size;
    return left >= 0;
  });
  const blobs = await Promise.all(
    wanted
      .slice(0, limits.pulledStatementsMax)
      .map(async (blob) => [blob, await repository.blob(blob, signal)] as const),
  );
  for (const [blob, bytes] of blobs) {
    if (blob.mediaType === STATEMENT_MEDIA_TYPE) {
      readStatement(bytes, blob, imageDigest);
    }
  }
  const documents = blobs.map(([blob, bytes]) => [blob.digest, bytes] as const);
  return { digest, sizeBytes: size, documents: new Map([[digest, manifest], ...documents]) };
}

/** What is to be kept of the index that a name led to. */
export function pulledIndex(
  { manifest, imageDigest, index }: Resolved,
  reference: Reference,
  statements: PulledStatements | undefined,
): PulledIndex | undefined {
  const { tag, digest = '' } = reference;
  const repository = canonicalRepository(reference);
  return (
    index && {
      reference,
      name: tag === undefined ? `${repository}@${digest}` : `${repository}:${tag}`,
      digest: index.digest,
      mediaType: index.mediaType,
      bytes: index.bytes,
      manifests: index.all,
      annotations: annotationsIn(index.bytes, index.digest, {}),
      image: {
        digest: imageDigest,
        bytes: manifest.bytes,
        annotations: annotationsIn(
          manifest.bytes,
          imageDigest,
          index.all.find((each) => each.digest === imageDigest)?.annotations ?? {},
        ),
      },
      statements,
    }
  );
}

/** More than are kept are none: the documents have them. */
function annotationsIn(
  bytes: Buffer,
  digest: string,
  annotations: Record<string, string>,
): DocumentAnnotations | undefined {
  try {
    return documentAnnotations(asObject(parseJson(bytes, digest), digest), { digest, annotations });
  } catch (error) {
    if (isEngineError(error, 'invalid_argument')) {
      return undefined;
    }
    throw error;
  }
}
