import {
  asArray,
  asCount,
  asDigest,
  asObject,
  asString,
  asStringMap,
  optional,
  wrong,
  type JsonObject,
} from './json.ts';
import type { Platform } from './platform.ts';

/** A pointer to a blob (OCI image specification, "descriptor"). */
export interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
  platform: Platform | undefined;
  annotations: Record<string, string>;
}

export const INDEX_TYPES: ReadonlySet<string> = new Set([
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
]);
export const MANIFEST_TYPES: ReadonlySet<string> = new Set([
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
]);
const CONFIG_TYPES: ReadonlySet<string> = new Set([
  'application/vnd.oci.image.config.v1+json',
  'application/vnd.docker.container.image.v1+json',
]);

/** The descriptors of an index that point to images; attestations are not. */
export function readIndex(index: JsonObject, where: string): Descriptor[] {
  return allDescriptors(index, where).filter(
    ({ annotations, platform }) =>
      annotations['vnd.docker.reference.type'] === undefined && platform?.os !== 'unknown',
  );
}

/** All of them. */
export function allDescriptors(index: JsonObject, where: string): Descriptor[] {
  if (index['layers'] !== undefined) {
    throw wrong(where, 'has both "manifests" and "layers"');
  }
  return asArray(index['manifests'], `${where}.manifests`).map((item, position) =>
    asDescriptor(item, `${where}.manifests[${position}]`),
  );
}

/** CVE-2021-41190: a document that could be read as an index and as a manifest. Throws invalid_argument. */
export function refuseTwoKinds(document: JsonObject, where: string): void {
  if (document['manifests'] !== undefined && document['layers'] !== undefined) {
    throw wrong(where, 'has both "manifests" and "layers"');
  }
}

/** What a manifest points to. The layers' media types are not looked at. Throws invalid_argument naming the field. */
export function readManifest(
  manifest: JsonObject,
  where: string,
): { config: Descriptor; layers: Descriptor[] } {
  const config = asDescriptor(manifest['config'], `${where}.config`);
  if (!CONFIG_TYPES.has(config.mediaType)) {
    throw wrong(
      `${where}.config`,
      `media type ${JSON.stringify(config.mediaType)} is no image configuration`,
    );
  }
  return { config, layers: readLayers(manifest, where) };
}

/** The same of a manifest that may be of no image, whose configuration says nothing. */
export function readLayers(manifest: JsonObject, where: string): Descriptor[] {
  return asArray(manifest['layers'], `${where}.layers`).map((item, index) =>
    asDescriptor(item, `${where}.layers[${index}]`),
  );
}

/** Throws EngineError invalid_argument naming the field. */
function asDescriptor(value: unknown, where: string): Descriptor {
  const item = asObject(value, where);
  return {
    mediaType: asString(item['mediaType'], `${where}.mediaType`),
    digest: asDigest(item['digest'], `${where}.digest`),
    size: asCount(item['size'], `${where}.size`),
    platform: optional(item['platform'], `${where}.platform`, asPlatform),
    annotations: optional(item['annotations'], `${where}.annotations`, asStringMap) ?? {},
  };
}

function asPlatform(value: unknown, where: string): Platform {
  const platform = asObject(value, where);
  const variant = optional(platform['variant'], `${where}.variant`, asString);
  return {
    os: asString(platform['os'], `${where}.os`),
    architecture: asString(platform['architecture'], `${where}.architecture`),
    ...(variant === undefined ? {} : { variant }),
  };
}
