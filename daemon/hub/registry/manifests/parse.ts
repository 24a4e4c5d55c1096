import { errorText } from '../../../base/errors.ts';
import { repeatedName } from '../../../base/json/repeated-name.ts';
import { limits } from '../../../base/limits.ts';
import { isDigest } from '../names/name.ts';
import { refusal } from '../refusal.ts';
import { blobsOf, isIndex, MEDIA_TYPES, type Manifest, type ManifestChild } from './manifest.ts';
import type { Descriptor } from '../../occurrences/occurrence.ts';

/** What a manifest says of itself. */
export type ParsedManifest = Omit<Manifest, 'digest' | 'size' | 'labels' | 'pushedMs'>;

type Fields = Readonly<Record<string, unknown>>;

const SERVED: readonly string[] = Object.values(MEDIA_TYPES);
const SCHEMA_1 = /^application\/vnd\.docker\.distribution\.manifest\.v1\+(json|prettyjws)$/;
/** Of manifests and descriptors, by their spelling in lower case. */
const NAMES = new Map(
  [
    'schemaVersion',
    'mediaType',
    'artifactType',
    'config',
    'layers',
    'manifests',
    'subject',
    'annotations',
    'digest',
    'size',
    'urls',
    'data',
    'platform',
  ].map((name) => [name.toLowerCase(), name]),
);

/**
 * Reads a manifest, of Docker's schema 2 or of OCI image-spec 1.1, whatever else it holds. Pure. Throws
 * MANIFEST_INVALID naming the field.
 */
export function parseManifest(bytes: Buffer, contentType: string | undefined): ParsedManifest {
  const fields = readFields(bytes);
  refuseTwice(bytes);
  refuseSpelling(fields, '');
  const mediaType = mediaTypeOf(fields, contentType);
  if (fields['schemaVersion'] !== 2) {
    throw invalid('schemaVersion', 'must be 2');
  }
  const annotations = texts(fields['annotations'], 'annotations');
  const subject = fields['subject'] === undefined ? undefined : descriptor(fields['subject'], 'subject');
  const artifactType = optionalText(fields['artifactType'], 'artifactType') ?? null;
  const said = { mediaType, annotations, artifactType, subject: subject?.digest ?? null };
  if (isIndex(mediaType)) {
    refuseFields(fields, ['config', 'layers']);
    return { ...said, config: null, layers: [], children: children(fields['manifests']) };
  }
  refuseFields(fields, ['manifests']);
  const parsed = {
    ...said,
    config: descriptor(fields['config'], 'config'),
    layers: descriptors(fields['layers'], 'layers'),
    children: [],
  };
  refuseTwoSizes(parsed);
  return parsed;
}

/** What a manifest that was taken is about. Throws MANIFEST_INVALID. */
export function subjectOf(bytes: Buffer): Descriptor | undefined {
  const { subject } = readFields(bytes);
  return subject === undefined ? undefined : descriptor(subject, 'subject');
}

function readFields(bytes: Buffer): Fields {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw refusal('MANIFEST_INVALID', 'manifest invalid: it is no JSON');
  }
  if (!isFields(value)) {
    throw refusal('MANIFEST_INVALID', 'manifest invalid: it is no JSON object');
  }
  return value;
}

/** Of the header, which the manifest's own field must not contradict. */
function mediaTypeOf(fields: Fields, contentType: string | undefined): string {
  const own = optionalText(fields['mediaType'], 'mediaType');
  const [sent = ''] = (contentType ?? '').split(';');
  const mediaType = sent.trim().toLowerCase() || own || '';
  if (SCHEMA_1.test(mediaType) || fields['schemaVersion'] === 1) {
    throw refusal('MANIFEST_INVALID', 'manifest invalid: schema 1 is not taken: push it with schema 2');
  }
  if (!SERVED.includes(mediaType)) {
    throw refusal(
      'MANIFEST_INVALID',
      `manifest invalid: media type ${JSON.stringify(mediaType)} is not of ${SERVED.join(', ')}`,
    );
  }
  if (own !== undefined && own !== mediaType) {
    throw invalid('mediaType', `is ${JSON.stringify(own)}, but Content-Type is ${mediaType}`);
  }
  return mediaType;
}

/** What occurs twice some read the first time and some the last, so that it is two manifests. */
function refuseTwice(bytes: Buffer): void {
  let name: string | undefined;
  try {
    name = repeatedName(bytes.toString('utf8'), limits.imageJsonDepthMax);
  } catch (error) {
    throw refusal('MANIFEST_INVALID', `manifest invalid: ${errorText(error)}`);
  }
  if (name !== undefined) {
    throw invalid(name.slice(0, limits.hubMediaTypeMax), 'occurs twice in one object');
  }
}

/** Clients in Go take `Layers` for `layers`, others do not: it is two manifests as well. */
function refuseSpelling(fields: Fields, prefix: string): void {
  for (const name of Object.keys(fields)) {
    const right = NAMES.get(name.toLowerCase());
    if (right !== undefined && right !== name) {
      throw invalid(prefix + name, `must be spelled ${right}`);
    }
  }
}

/** A manifest that is two at once may be taken for either by its readers (CVE-2021-41190). */
function refuseFields(fields: Fields, names: readonly string[]): void {
  for (const name of names) {
    if (fields[name] !== undefined) {
      throw invalid(name, 'does not go with this media type');
    }
  }
}

function descriptors(value: unknown, field: string): Descriptor[] {
  if (!Array.isArray(value) || value.length > limits.hubManifestPartsMax) {
    throw invalid(field, `must be a list of at most ${limits.hubManifestPartsMax}`);
  }
  return value.map((one: unknown, index) => descriptor(one, `${field}[${index}]`));
}

function descriptor(value: unknown, field: string): Descriptor {
  if (!isFields(value)) {
    throw invalid(field, 'must be a descriptor');
  }
  refuseSpelling(value, `${field}.`);
  const { mediaType, digest, size } = value;
  if (typeof mediaType !== 'string' || mediaType === '' || mediaType.length > limits.hubMediaTypeMax) {
    throw invalid(`${field}.mediaType`, 'must be a media type');
  }
  if (!isDigest(digest)) {
    throw invalid(`${field}.digest`, 'must be sha256: and 64 hexadecimal digits');
  }
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) {
    throw invalid(`${field}.size`, 'must be a number of bytes');
  }
  return { mediaType, digest, size };
}

function children(value: unknown): ManifestChild[] {
  const listed = descriptors(value, 'manifests');
  return listed.map(({ digest, mediaType }, index) => {
    const fields: unknown = Array.isArray(value) ? value[index] : undefined;
    return { digest, mediaType, platform: platformOf(isFields(fields) ? fields['platform'] : undefined) };
  });
}

/** `linux/arm64/v8`; null = it is not said. */
function platformOf(platform: unknown): string | null {
  if (!isFields(platform)) {
    return null;
  }
  const { os, architecture, variant } = platform;
  const isSaid = typeof os === 'string' && typeof architecture === 'string';
  const parts = isSaid ? [os, architecture, ...(typeof variant === 'string' ? [variant] : [])] : [];
  return isSaid ? parts.join('/').slice(0, limits.hubMediaTypeMax) : null;
}

function refuseTwoSizes(manifest: Pick<Manifest, 'config' | 'layers'>): void {
  const sizes = new Map(blobsOf(manifest).map(({ digest, size }) => [digest, size]));
  const two = [...(manifest.config === null ? [] : [manifest.config]), ...manifest.layers].find(
    ({ digest, size }) => (sizes.get(digest) ?? size) !== size,
  );
  if (two !== undefined) {
    throw refusal('MANIFEST_INVALID', `manifest invalid: ${two.digest} has two sizes`, { detail: two });
  }
}

/** Texts by name. What is too much to be kept beside the manifest is refused. */
function texts(value: unknown, field: string): Record<string, string> {
  if (value === undefined || value === null) {
    return {};
  }
  const entries = isFields(value) ? Object.entries(value) : undefined;
  const found: [string, string][] = [];
  for (const [name, text] of entries ?? []) {
    if (typeof text === 'string') {
      found.push([name, text]);
    }
  }
  if (entries?.length !== found.length) {
    throw invalid(field, 'must be texts by name');
  }
  if (Buffer.byteLength(JSON.stringify(found)) > limits.hubAnnotationsBytesMax) {
    throw invalid(field, `must be at most ${limits.hubAnnotationsBytesMax} bytes`);
  }
  return Object.fromEntries(found);
}

function optionalText(value: unknown, field: string): string | undefined {
  if (value === undefined || value === '') {
    return undefined;
  }
  if (typeof value !== 'string' || value.length > limits.hubMediaTypeMax) {
    throw invalid(field, 'must be a media type');
  }
  return value;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(field: string, what: string): Error {
  return refusal('MANIFEST_INVALID', `manifest invalid: ${field} ${what}`, { detail: { field } });
}

/** The labels of an image's configuration; none where they are too many or it is none. Pure. */
export function labelsOf(config: Buffer): Record<string, string> {
  try {
    const value: unknown = JSON.parse(config.toString('utf8'));
    const inner = isFields(value) ? value['config'] : undefined;
    return texts(isFields(inner) ? inner['Labels'] : undefined, 'Labels');
  } catch {
    // A configuration is the image's own affair: what it is not, it has no labels.
    return {};
  }
}
