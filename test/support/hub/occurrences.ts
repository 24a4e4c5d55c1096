import type { Actor, ManifestSummary, Occurrence } from '../../../daemon/hub/occurrences/occurrence.ts';
import type { Repository } from '../../../daemon/hub/repositories/repository.ts';

export const REPOSITORY: Repository = {
  id: 7,
  owner: { kind: 'organization', name: 'acme', id: 3 },
  name: 'app',
  description: null,
  isPrivate: true,
  createdMs: 1_767_225_600_000,
  updatedMs: 1_767_225_600_000,
};

export const ALICE: Actor = { kind: 'user', id: 1, name: 'alice' };

export function manifest(digit: string): ManifestSummary {
  return {
    digest: `sha256:${digit.repeat(64)}`,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    size: 528,
    artifactType: null,
    labels: { 'org.opencontainers.image.source': 'https://example.com/app' },
    config: {
      digest: `sha256:${'c'.repeat(64)}`,
      mediaType: 'application/vnd.oci.image.config.v1+json',
      size: 9,
    },
    layers: [
      {
        digest: `sha256:${'d'.repeat(64)}`,
        mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip',
        size: 99,
      },
    ],
  };
}

/** A push of `acme/app:v1`. */
export function pushed(
  before: ManifestSummary | null = null,
  after: ManifestSummary | null = manifest('a'),
  repository: Repository = REPOSITORY,
): Extract<Occurrence, { kind: 'tag' }> {
  return { kind: 'tag', repository, tag: 'v1', before, after, atMs: 1_767_225_600_000, actor: ALICE };
}
