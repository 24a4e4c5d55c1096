import type { PushedBlob } from './layer-push.ts';

export const MANIFEST_TYPE = 'application/vnd.docker.distribution.manifest.v2+json';
const CONFIG_TYPE = 'application/vnd.docker.container.image.v1+json';
const LAYER_TYPE = 'application/vnd.docker.image.rootfs.diff.tar.gzip';
const TAR_TYPE = 'application/vnd.docker.image.rootfs.diff.tar';

/** The manifest of an image, byte for byte as dockerd writes it: same blobs, same digest. Pure. */
export function manifestBytes(config: PushedBlob, layers: readonly PushedBlob[]): Buffer {
  const manifest = {
    schemaVersion: 2,
    mediaType: MANIFEST_TYPE,
    config: descriptor(CONFIG_TYPE, config),
    layers: layers.map((layer) => descriptor(layer.isTar ? TAR_TYPE : LAYER_TYPE, layer)),
  };
  return Buffer.from(JSON.stringify(manifest, undefined, 3));
}

function descriptor(mediaType: string, { digest, sizeBytes }: PushedBlob): object {
  return { mediaType, size: sizeBytes, digest };
}
