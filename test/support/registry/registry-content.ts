/** Puts images into a registry by plain requests, without the engine that is tested. */
import { createHash } from 'node:crypto';
import { compressed } from '../images/compressors.ts';
import { tar, type TarEntry } from '../images/tar.ts';

export interface PublishedBlob {
  mediaType: string;
  digest: string;
  size: number;
}

export interface PublishedImage {
  /** sha256:... of the configuration: the image's id. */
  id: string;
  /** sha256:... of the manifest. */
  digest: string;
  /** Bytes of the manifest. */
  size: number;
  mediaType: string;
  layers: (PublishedBlob & { diffId: string; bytes: Buffer })[];
  config: PublishedBlob;
}

export interface PublishOptions {
  /** Media types of OCI instead of Docker's. */
  oci?: boolean;
  /** How layers are compressed; gzip by default. */
  compression?: 'gzip' | 'zstd' | 'none';
  architecture?: string;
  /** Added to the image's configuration. */
  config?: Record<string, unknown>;
  /** False: the image does not say when it was made. */
  dated?: boolean;
  /** Value of `Authorization`. */
  authorization?: string;
}

const DOCKER = {
  manifest: 'application/vnd.docker.distribution.manifest.v2+json',
  index: 'application/vnd.docker.distribution.manifest.list.v2+json',
  config: 'application/vnd.docker.container.image.v1+json',
  layer: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
};
const OCI = {
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
};

export const sha256 = (bytes: Buffer | string): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** One layer of one file. */
export function fileLayer(name: string, content: string | Buffer): TarEntry[] {
  return [{ name, content }];
}

/** Uploads an image of these layers (bottom first) as `repository:tag`. */
export async function publish(
  base: string,
  name: string,
  layers: readonly (readonly TarEntry[] | Buffer)[],
  options: PublishOptions = {},
): Promise<PublishedImage> {
  const [repository = '', tag = 'latest'] = name.split(':');
  const types = options.oci === true ? OCI : DOCKER;
  const { compression = 'gzip' } = options;
  const made = layers.map((layer) => {
    const plain = Buffer.isBuffer(layer) ? layer : tar(layer);
    const bytes = compression === 'none' ? plain : compressed(compression, plain, ['-1']);
    const mediaType = types.layer.replace(/([.+])gzip$/, compression === 'none' ? '' : `$1${compression}`);
    return { bytes, diffId: sha256(plain), mediaType, digest: sha256(bytes), size: bytes.length };
  });
  const configBytes = Buffer.from(
    JSON.stringify({
      architecture: options.architecture ?? (process.arch === 'x64' ? 'amd64' : process.arch),
      os: 'linux',
      ...(options.dated !== false && { created: '2024-01-01T00:00:00Z' }),
      config: { Cmd: ['sh'], ...options.config },
      rootfs: { type: 'layers', diff_ids: made.map(({ diffId }) => diffId) },
      history: made.map((_, index) => ({ created: '2024-01-01T00:00:00Z', created_by: `layer ${index}` })),
    }),
  );
  const config = { mediaType: types.config, digest: sha256(configBytes), size: configBytes.length };
  for (const bytes of [...made.map((layer) => layer.bytes), configBytes]) {
    await putBlob(base, repository, bytes, options.authorization);
  }
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: types.manifest,
      config,
      layers: made.map(({ mediaType, digest, size }) => ({ mediaType, digest, size })),
    }),
  );
  await putManifest(base, `${repository}/manifests/${tag}`, types.manifest, manifest, options.authorization);
  const { id, digest } = { id: config.digest, digest: sha256(manifest) };
  return { id, digest, size: manifest.length, mediaType: types.manifest, layers: made, config };
}

/** What an index names. */
export interface IndexEntry {
  image: Pick<PublishedImage, 'mediaType' | 'digest' | 'size'>;
  platform: Record<string, string>;
  annotations?: Record<string, string>;
}

/**
 * Uploads statements about an image, by predicate type, as BuildKit has them; bytes are the whole statement. Answers
 * what an index names.
 */
export async function publishStatements(
  base: string,
  repository: string,
  about: PublishedImage,
  predicates: Readonly<Record<string, unknown>>,
): Promise<IndexEntry> {
  const subject = [{ name: 'pkg', digest: { sha256: about.digest.replace('sha256:', '') } }];
  const layers = Object.entries(predicates).map(([predicateType, predicate]) => ({
    predicateType,
    bytes: Buffer.isBuffer(predicate)
      ? predicate
      : Buffer.from(JSON.stringify({ _type: 's', predicateType, subject, predicate })),
  }));
  const config = Buffer.from('{"architecture":"unknown","os":"unknown","config":{}}');
  for (const bytes of [...layers.map((layer) => layer.bytes), config]) {
    await putBlob(base, repository, bytes);
  }
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: OCI.manifest,
      config: { mediaType: OCI.config, digest: sha256(config), size: config.length },
      layers: layers.map(({ predicateType, bytes }) => ({
        mediaType: 'application/vnd.in-toto+json',
        digest: sha256(bytes),
        size: bytes.length,
        annotations: { 'in-toto.io/predicate-type': predicateType },
      })),
    }),
  );
  const digest = sha256(manifest);
  await putManifest(base, `${repository}/manifests/${digest}`, OCI.manifest, manifest);
  return {
    image: { mediaType: OCI.manifest, digest, size: manifest.length },
    platform: { os: 'unknown', architecture: 'unknown' },
    annotations: {
      'vnd.docker.reference.digest': about.digest,
      'vnd.docker.reference.type': 'attestation-manifest',
    },
  };
}

/** Uploads an index of images that are in the repository already. Answers its digest. */
export async function publishIndex(
  base: string,
  name: string,
  images: readonly IndexEntry[],
  oci = true,
): Promise<string> {
  const [repository = '', tag = 'latest'] = name.split(':');
  const mediaType = oci ? OCI.index : DOCKER.index;
  const index = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType,
      manifests: images.map(({ image, platform, annotations }) => ({
        mediaType: image.mediaType,
        digest: image.digest,
        size: image.size,
        platform,
        annotations,
      })),
    }),
  );
  await putManifest(base, `${repository}/manifests/${tag}`, mediaType, index);
  return sha256(index);
}

export async function putBlob(
  base: string,
  repository: string,
  bytes: Buffer,
  authorization?: string,
): Promise<void> {
  const headers = authorization === undefined ? {} : { authorization };
  const begun = await fetch(`${base}/v2/${repository}/blobs/uploads/`, { method: 'POST', headers });
  const location = begun.headers.get('location');
  if (begun.status !== 202 || location === null) {
    throw new Error(`upload to ${repository}: ${begun.status} ${await begun.text()}`);
  }
  const url = new URL(location, base);
  url.searchParams.set('digest', sha256(bytes));
  const ended = await fetch(url, {
    method: 'PUT',
    headers: { ...headers, 'content-type': 'application/octet-stream' },
    body: new Uint8Array(bytes),
  });
  if (ended.status !== 201) {
    throw new Error(`upload to ${repository}: ${ended.status} ${await ended.text()}`);
  }
}

export async function putManifest(
  base: string,
  path: string,
  mediaType: string,
  bytes: Buffer,
  authorization?: string,
): Promise<void> {
  const headers = { 'content-type': mediaType, ...(authorization !== undefined && { authorization }) };
  const answer = await fetch(`${base}/v2/${path}`, {
    method: 'PUT',
    headers,
    body: new Uint8Array(bytes),
  });
  if (answer.status !== 201) {
    throw new Error(`manifest ${path}: ${answer.status} ${await answer.text()}`);
  }
}
