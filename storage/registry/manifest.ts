import { createHash } from 'node:crypto';
import { EngineError, invalidArgument, notImplemented } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import {
  allDescriptors,
  INDEX_TYPES,
  MANIFEST_TYPES,
  readIndex,
  readManifest,
  refuseTwoKinds,
  type Descriptor,
} from '../image/descriptor.ts';
import { asObject, asString, optional, parseJson, wrong, type JsonObject } from '../image/json.ts';

/** A manifest as a registry gave it, checked. */
export type Manifest = {
  bytes: Buffer;
  mediaType: string;
  /** sha256:... of `bytes`. */
  digest: string;
} & (
  | { kind: 'image'; config: Descriptor; layers: Descriptor[] }
  /** `all`: also what is no image. */
  | { kind: 'index'; manifests: Descriptor[]; all: Descriptor[] }
);

/** What is asked for, best first. */
export const MANIFEST_ACCEPT = [...INDEX_TYPES, ...MANIFEST_TYPES].join(', ');

const SCHEMA_1 = /^application\/vnd\.docker\.distribution\.manifest\.v1\+(?:prettyjws|json)$/;
/** Tars of layers; those that a registry may not pass on ("foreign") are elsewhere, unchecked. */
const LAYER_TYPES = new Set([
  'application/vnd.docker.image.rootfs.diff.tar.gzip',
  'application/vnd.docker.image.rootfs.diff.tar',
  'application/vnd.oci.image.layer.v1.tar',
  'application/vnd.oci.image.layer.v1.tar+gzip',
  'application/vnd.oci.image.layer.v1.tar+zstd',
]);

/**
 * Reads a manifest. `expected` is the digest it must have; `contentType` and `claimed` are the registry's headers, and
 * must agree with the bytes. Throws invalid_argument, not_implemented for the first schema. Pure.
 */
export function parseManifest(
  bytes: Buffer,
  facts: { where: string; contentType: string; expected?: string; claimed?: string },
): Manifest {
  const { where, expected, claimed } = facts;
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  for (const promised of [expected, claimed]) {
    if (promised !== undefined && promised !== digest) {
      throw invalidArgument(`${where}: manifest verification failed for digest ${promised}: got ${digest}`);
    }
  }
  const contentType = (facts.contentType.split(';')[0] ?? '').trim().toLowerCase();
  if (SCHEMA_1.test(contentType)) {
    throw schema1(where);
  }
  const isKnown = INDEX_TYPES.has(contentType) || MANIFEST_TYPES.has(contentType);
  // Some registries and plain file servers know no better name for it than this.
  if (!isKnown && contentType !== '' && contentType !== 'application/json') {
    throw wrong(where, `media type ${JSON.stringify(contentType)} is no manifest`);
  }
  const document = asObject(parseJson(bytes, where), where);
  if (document['schemaVersion'] === 1) {
    throw schema1(where);
  }
  const own = optional(document['mediaType'], `${where}.mediaType`, asString);
  if (isKnown && own !== undefined && own !== contentType) {
    throw wrong(where, `its media type ${JSON.stringify(own)} is not that of the answer, ${contentType}`);
  }
  refuseTwoKinds(document, where);
  const mediaType = isKnown ? contentType : (own ?? '');
  if (INDEX_TYPES.has(mediaType)) {
    const all = allDescriptors(document, where);
    return { kind: 'index', bytes, mediaType, digest, manifests: readIndex(document, where), all };
  }
  if (MANIFEST_TYPES.has(mediaType)) {
    return { kind: 'image', bytes, mediaType, digest, ...readImage(document, where) };
  }
  throw wrong(where, `media type ${JSON.stringify(mediaType)} is no manifest`);
}

function readImage(document: JsonObject, where: string): { config: Descriptor; layers: Descriptor[] } {
  const { config, layers } = readManifest(document, where);
  if (config.size > limits.imageConfigBytesMax) {
    throw wrong(`${where}.config`, `larger than ${limits.imageConfigBytesMax} bytes`);
  }
  if (layers.length > limits.imageLayersMax) {
    throw wrong(`${where}.layers`, `more than ${limits.imageLayersMax} layers`);
  }
  for (const [index, { mediaType }] of layers.entries()) {
    if (!LAYER_TYPES.has(mediaType)) {
      throw wrong(`${where}.layers[${index}]`, `media type ${JSON.stringify(mediaType)} is no layer`);
    }
  }
  return { config, layers };
}

function schema1(where: string): EngineError {
  return notImplemented(
    `${where}: Docker image manifest version 2, schema 1 is not supported: push the image again with a current client`,
  );
}
