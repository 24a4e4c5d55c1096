import { createHash } from 'node:crypto';
import { limits } from '../../daemon/base/limits.ts';
import { parseReference, type Reference } from '../references/reference.ts';
import type { Archive } from './archive.ts';
import { parseImageConfig } from '../image/image-config.ts';
import { asArray, asObject, asString, asStrings, optional, parseJson, wrong } from '../image/json.ts';
import type { ImagePlan } from './image-plan.ts';

const MANIFEST = 'manifest.json';

/**
 * The format of `docker save` since 1.10: `manifest.json`, a list of {Config, RepoTags, Layers, Parent} with names of
 * members. Since 25 the members are the blobs of an OCI layout.
 */
export async function planDockerArchive(archive: Archive): Promise<ImagePlan[]> {
  const bytes = await archive.read(MANIFEST, limits.manifestBytesMax, 'the tarball');
  const items = asArray(parseJson(bytes, MANIFEST), MANIFEST);
  if (items.length === 0) {
    throw wrong(MANIFEST, 'names no image');
  }
  const plans: ImagePlan[] = [];
  for (const [index, item] of items.entries()) {
    plans.push(await planImage(archive, item, `${MANIFEST}[${index}]`));
  }
  return plans;
}

async function planImage(archive: Archive, item: unknown, where: string): Promise<ImagePlan> {
  const entry = asObject(item, where);
  const configName = asString(entry['Config'], `${where}.Config`);
  const bytes = await archive.read(configName, limits.imageConfigBytesMax, `${where}.Config`);
  checkNamedDigest(configName, bytes, `${where}.Config`);
  const parsed = parseImageConfig(bytes, configName);
  const layers = asStrings(entry['Layers'], `${where}.Layers`);
  if (layers.length !== parsed.diffIds.length) {
    const expected = parsed.diffIds.length;
    throw wrong(where, `layers length mismatch: expected ${expected}, got ${layers.length}`);
  }
  const names = optional(entry['RepoTags'], `${where}.RepoTags`, asStrings) ?? [];
  const parentId = optional(entry['Parent'], `${where}.Parent`, asString);
  return {
    ...(parentId && { parentId }),
    names: names.map((name) => asTagged(name, `${where}.RepoTags`)),
    layers: layers.map((name, index) => {
      const digest = blobDigest(name);
      return {
        blob: archive.range(name, `${where}.Layers[${index}]`),
        ...(parsed.diffIds[index] === undefined ? {} : { diffId: parsed.diffIds[index] }),
        ...(digest === undefined ? {} : { digest }),
      };
    }),
    config: { kind: 'given', bytes, parsed },
  };
}

/** A name with a tag; throws invalid_argument naming it otherwise. */
export function asTagged(name: string, where: string): Reference {
  const reference = parseReference(name);
  if (reference.tag === undefined || reference.digest !== undefined) {
    throw wrong(where, `invalid tag ${JSON.stringify(name)}`);
  }
  return reference;
}

/** A configuration named after its digest must have it. Other names (`config.json`) promise nothing. */
function checkNamedDigest(name: string, bytes: Buffer, where: string): void {
  const named = /(?:^|\/|sha256:)([0-9a-f]{64})(?:\.json)?$/.exec(name)?.[1];
  const found = createHash('sha256').update(bytes).digest('hex');
  if (named !== undefined && named !== found) {
    throw wrong(where, `digest mismatch: ${JSON.stringify(name)} has sha256:${found}`);
  }
}

/** Members in an OCI layout's blob directory are named after their digest. */
function blobDigest(name: string): string | undefined {
  const hex = /^blobs\/sha256\/([0-9a-f]{64})$/.exec(name)?.[1];
  return hex === undefined ? undefined : `sha256:${hex}`;
}
