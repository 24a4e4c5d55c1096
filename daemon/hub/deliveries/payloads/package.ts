import type { Actor, Descriptor, ManifestSummary, Occurrence } from '../../occurrences/occurrence.ts';
import type { Repository } from '../../repositories/repository.ts';
import { simpleUser } from '../../views/account-view.ts';
import type { Addresses } from '../../views/addresses.ts';
import { timeText } from '../../views/times.ts';
import { origin, senderView, type Payload } from './common.ts';

interface Version {
  repository: Repository;
  actor: Actor;
  atMs: number;
  manifest: ManifestSummary;
  /** Null = untagged. */
  tag: string | null;
  action: 'published' | 'updated' | 'deleted';
}

/** GitHub's `package` and `registry_package` of a container image: published where the tag is new, else updated. */
export function packagePayload(
  event: 'package' | 'registry_package',
  { repository, actor, atMs, tag, before, after }: Extract<Occurrence, { kind: 'tag' }>,
  addresses: Addresses,
): Payload {
  const manifest = after ?? before;
  return manifest === null
    ? {}
    : versionPayload(
        event,
        { repository, actor, atMs, manifest, tag, action: before === null ? 'published' : 'updated' },
        addresses,
      );
}

export function packageDeletedPayload(
  { repository, actor, atMs, manifest }: Extract<Occurrence, { kind: 'manifest-deleted' }>,
  addresses: Addresses,
): Payload {
  const version = { repository, actor, atMs, manifest, tag: null, action: 'deleted' as const };
  return versionPayload('package', version, addresses);
}

function versionPayload(
  event: 'package' | 'registry_package',
  version: Version,
  addresses: Addresses,
): Payload {
  const { repository, actor, atMs, action } = version;
  const { owner, name, createdMs, description } = repository;
  const at = timeText(atMs);
  return {
    action,
    [event]: {
      id: repository.id,
      name,
      namespace: owner.name,
      description: event === 'package' ? description : null,
      ecosystem: 'CONTAINER',
      package_type: 'CONTAINER',
      html_url: `${addresses.base}/${owner.name}/${name}`,
      created_at: timeText(createdMs),
      updated_at: at,
      owner: simpleUser(owner, addresses),
      package_version: versionView(version, addresses),
      registry: {
        about_url: `${addresses.base}/docs`,
        name: 'Berth container registry',
        type: 'containers',
        url: `${addresses.base}/v2/`,
        vendor: 'Berth',
      },
    },
    ...origin(repository, actor, addresses),
  };
}

function versionView({ repository, actor, atMs, manifest, tag }: Version, addresses: Addresses) {
  const { owner, name } = repository;
  const at = timeText(atMs);
  const image = `${new URL(addresses.base).host}/${owner.name}/${name}`.toLowerCase();
  const reference = tag === null ? `${image}@${manifest.digest}` : `${image}:${tag}`;
  return {
    id: versionId(manifest.digest),
    version: manifest.digest,
    name: manifest.digest,
    summary: '',
    description: '',
    body: '',
    body_html: '',
    author: senderView(actor, addresses),
    html_url: `${addresses.base}/${owner.name}/${name}`,
    metadata: [],
    package_files: [],
    package_url: reference,
    installation_command: `docker pull ${reference}`,
    target_commitish: 'latest',
    target_oid: manifest.digest,
    created_at: at,
    updated_at: at,
    container_metadata: {
      tag: { name: tag ?? '', digest: manifest.digest },
      labels: labelsOf(manifest),
      manifest: manifestView(manifest, `${addresses.base}/v2/${owner.name}/${name}`.toLowerCase()),
    },
  };
}

function manifestView({ digest, mediaType, size, config, layers }: ManifestSummary, base: string) {
  return {
    digest,
    media_type: mediaType,
    uri: `${base}/manifests/${digest}`,
    size,
    config: config === null ? {} : described(config),
    layers: layers.map(described),
  };
}

function described({ digest, mediaType, size }: Descriptor) {
  return { digest, media_type: mediaType, size };
}

/** Labels that GitHub's schema names, each of them text, and all in `all_labels`. */
function labelsOf({ labels }: ManifestSummary) {
  const known = ['description', 'source', 'revision', 'image_url', 'licenses'] as const;
  return {
    ...Object.fromEntries(known.map((key) => [key, labels[`org.opencontainers.image.${key}`] ?? ''])),
    all_labels: labels,
  };
}

/** A number for what has none: of 48 bits of the digest, so that JSON keeps it. */
function versionId(digest: string): number {
  return Number.parseInt(digest.slice(digest.indexOf(':') + 1).slice(0, 12), 16);
}
