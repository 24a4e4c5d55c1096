import type { Descriptor, ManifestSummary } from '../../occurrences/occurrence.ts';

/**
 * A manifest of a repository. Its bytes are a blob; this is what is asked of it without reading them. Records
 * `manifest/<repository's id>/<digest>`.
 */
export interface Manifest {
  digest: string;
  mediaType: string;
  size: number;
  /** OCI 1.1: as the manifest says it; null = it does not. */
  artifactType: string | null;
  /** What it is about: the digest of another manifest, which need not be there. */
  subject: string | null;
  /** Null = an index. */
  config: Descriptor | null;
  layers: readonly Descriptor[];
  /** Of an index. */
  children: readonly ManifestChild[];
  annotations: Readonly<Record<string, string>>;
  /** Of the image's configuration; empty for what is no image, and where they are too many. */
  labels: Readonly<Record<string, string>>;
  pushedMs: number;
}

export interface ManifestChild {
  digest: string;
  mediaType: string;
  /** `linux/amd64`; null = not said. */
  platform: string | null;
}

/** What leads from a name to a manifest. Records `tag/<repository's id>/<tag>`. */
export interface Tag {
  tag: string;
  digest: string;
  updatedMs: number;
}

export const MEDIA_TYPES = {
  dockerManifest: 'application/vnd.docker.distribution.manifest.v2+json',
  dockerList: 'application/vnd.docker.distribution.manifest.list.v2+json',
  ociManifest: 'application/vnd.oci.image.manifest.v1+json',
  ociIndex: 'application/vnd.oci.image.index.v1+json',
} as const;

export function isIndex(mediaType: string): boolean {
  return mediaType === MEDIA_TYPES.dockerList || mediaType === MEDIA_TYPES.ociIndex;
}

/** What a registry does not have: its descriptor says where it is (Docker: foreign layers). */
const ELSEWHERE =
  /^application\/vnd\.(docker\.image\.rootfs\.foreign\.|oci\.image\.layer\.nondistributable\.)/;

/** Configurations of images; all else is an artifact. */
const IMAGE = /^application\/vnd\.(docker\.container\.image\.v1|oci\.image\.config\.v1)\+json$/;

/** The blobs that a repository must have for it, each once. */
export function blobsOf({ config, layers }: Pick<Manifest, 'config' | 'layers'>): Descriptor[] {
  const parts = [...(config === null ? [] : [config]), ...layers];
  const needed = parts.filter(({ mediaType }) => !ELSEWHERE.test(mediaType));
  return [...new Map(needed.map((part) => [part.digest, part])).values()];
}

export function isImage({ config }: Pick<Manifest, 'config'>): boolean {
  return config !== null && IMAGE.test(config.mediaType);
}

/** What webhooks are told. */
export function summaryOf(manifest: Manifest): ManifestSummary {
  const { digest, mediaType, size, artifactType, labels, config, layers } = manifest;
  const isArtifact = config !== null && !isImage(manifest);
  return {
    digest,
    mediaType,
    size,
    artifactType: artifactType ?? (isArtifact ? config.mediaType : null),
    labels,
    config,
    layers,
  };
}
