import { limits } from '../../daemon/base/limits.ts';
import { parseReference, withTag, type Reference } from '../references/reference.ts';
import type { Archive } from './archive.ts';
import { goJson } from '../image/go-json.ts';
import {
  asObject,
  asString,
  asStringMap,
  asStrings,
  optional,
  parseJson,
  wrong,
  type JsonObject,
} from '../image/json.ts';
import type { ImagePlan } from './image-plan.ts';

/** One `<id>/` directory: a layer and the configuration of the image that ends with it. */
interface LegacyLayer {
  id: string;
  parent: string | undefined;
  json: JsonObject;
}

const REPOSITORIES = 'repositories';
const JSON_MEMBER = /^([0-9a-f]{64})\/json$/;
/** Keys that meant something to the old image store only. */
const STORE_KEYS = new Set(['id', 'parent', 'Size', 'parent_id', 'layer_id', 'throwaway']);

/**
 * The format of `docker save` before 1.10: a directory per layer with `VERSION`, `json` and `layer.tar`, and
 * `repositories` naming the top ones. Without `repositories` every layer that is no other's parent is an image. Empty
 * when the tarball has no such directory.
 */
export async function planLegacyArchive(archive: Archive): Promise<ImagePlan[]> {
  const layers = new Map<string, LegacyLayer>();
  for (const name of archive.names()) {
    const id = JSON_MEMBER.exec(name)?.[1];
    if (id !== undefined) {
      layers.set(id, await readLayer(archive, id));
    }
  }
  const tops = await readTops(archive, layers);
  return [...tops].map(([id, names]) => planImage(archive, layers, id, names));
}

async function readLayer(archive: Archive, id: string): Promise<LegacyLayer> {
  const where = `${id}/json`;
  const json = asObject(
    parseJson(await archive.read(where, limits.imageConfigBytesMax, where), where),
    where,
  );
  const version = `${id}/VERSION`;
  if (archive.has(version)) {
    const text = (await archive.read(version, 64, version)).toString('utf8').trim();
    if (text !== '1.0') {
      throw wrong(version, `format version ${JSON.stringify(text)} is not supported (only 1.0)`);
    }
  }
  const own = asString(json['id'], `${where}.id`);
  if (own !== id) {
    throw wrong(`${where}.id`, `is ${JSON.stringify(own.slice(0, 100))}, not its directory's name`);
  }
  return { id, parent: optional(json['parent'], `${where}.parent`, asString) || undefined, json };
}

async function readTops(
  archive: Archive,
  layers: ReadonlyMap<string, LegacyLayer>,
): Promise<Map<string, Reference[]>> {
  const tops = new Map<string, Reference[]>();
  if (!archive.has(REPOSITORIES)) {
    const parents = new Set([...layers.values()].map((layer) => layer.parent));
    for (const id of layers.keys()) {
      if (!parents.has(id)) {
        tops.set(id, []);
      }
    }
    return tops;
  }
  const bytes = await archive.read(REPOSITORIES, limits.manifestBytesMax, REPOSITORIES);
  for (const [repository, tags] of Object.entries(asObject(parseJson(bytes, REPOSITORIES), REPOSITORIES))) {
    const where = `${REPOSITORIES}.${repository}`;
    for (const [tag, id] of Object.entries(asStringMap(tags, where))) {
      tops.set(id, [...(tops.get(id) ?? []), withTag(parseReference(repository), tag)]);
    }
  }
  return tops;
}

function planImage(
  archive: Archive,
  layers: ReadonlyMap<string, LegacyLayer>,
  top: string,
  names: Reference[],
): ImagePlan {
  const chain: LegacyLayer[] = [];
  for (let id: string | undefined = top; id !== undefined; id = chain[0]?.parent) {
    const layer = layers.get(id);
    if (layer === undefined) {
      throw wrong(chain[0] === undefined ? REPOSITORIES : `${chain[0].id}/json.parent`, `no layer ${id}`);
    }
    if (chain.length >= limits.imageLayersMax) {
      throw wrong(`${top}/json`, `more than ${limits.imageLayersMax} parents, or parents in a circle`);
    }
    chain.unshift(layer);
  }
  return {
    names,
    layers: chain.map(({ id }) => ({ blob: archive.range(`${id}/layer.tar`, id) })),
    config: { kind: 'made', make: (diffIds) => makeConfig(chain, diffIds) },
  };
}

/**
 * The configuration of an old image, written as moby's image/v1 converts it (keys sorted, JSON as Go writes it), so
 * that an old tarball gets the same image id here as there.
 */
function makeConfig(chain: readonly LegacyLayer[], diffIds: readonly string[]): Buffer {
  const top = chain.at(-1)?.json ?? {};
  const kept = Object.entries(top).filter(([key]) => !STORE_KEYS.has(key));
  const config = Object.fromEntries([
    ...kept,
    ['rootfs', { type: 'layers', diff_ids: diffIds }],
    ['history', chain.map((layer) => historyOf(layer))],
  ]);
  return Buffer.from(goJson(Object.fromEntries(Object.entries(config).toSorted(byKey))));
}

function byKey(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return a[0] < b[0] ? -1 : 1;
}

function historyOf(layer: LegacyLayer): JsonObject {
  const where = `${layer.id}/json`;
  const text = (key: string): string | undefined =>
    optional(layer.json[key], `${where}.${key}`, asString) || undefined;
  const container = optional(layer.json['container_config'], `${where}.container_config`, asObject);
  const command = optional(container?.['Cmd'], `${where}.container_config.Cmd`, asStrings) ?? [];
  const [created, author, comment] = [text('created'), text('author'), text('comment')];
  return {
    ...(created === undefined ? {} : { created }),
    ...(author === undefined ? {} : { author }),
    ...(command.length === 0 ? {} : { created_by: command.join(' ') }),
    ...(comment === undefined ? {} : { comment }),
  };
}
