import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ImageConfig } from '../image/image-config.ts';
import { asObject, parseJson } from '../image/json.ts';
import { padding, TAR_END } from '../tar/encode.ts';
import { writeHeader } from './tar-writer.ts';

/** An image to write into a tarball. */
export interface SavedImage {
  /** sha256:... */
  id: string;
  configBytes: Buffer;
  config: ImageConfig;
  /** Names it is saved under, familiar form; none when it was asked for by its id. */
  names: { repository: string; tag: string }[];
  /** What it was made from; told only where that is saved too. */
  parentId?: string | undefined;
  /** Bottom first. */
  layers: SavedLayer[];
}

export interface SavedLayer {
  diffId: string;
  chainId: string;
  tarBytes: number;
  /** Opens the layer's tar. */
  read(): Readable;
}

/** A member with its content ready or to be streamed. */
type Part =
  | { name: string; kind: 'directory'; mtime: number }
  | { name: string; kind: 'symlink'; target: string; mtime: number }
  | { name: string; kind: 'file'; content: Buffer; mtime: number }
  | { name: string; kind: 'layer'; layer: SavedLayer; mtime: number };

/**
 * The tarball of `docker save`: a directory per layer (`VERSION`, `json`, `layer.tar`, API 1.24), `<image id>.json`,
 * `manifest.json` (since 1.10) and, where names were asked for, `repositories`. Same images, same bytes.
 * `onEnd` is called when the last byte was taken.
 */
export function saveImages(images: readonly SavedImage[], onEnd: () => void): Readable {
  return Readable.from(write(planParts(images), onEnd), { objectMode: false, highWaterMark: 1024 * 1024 });
}

async function* write(parts: readonly Part[], onEnd: () => void): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    switch (part.kind) {
      case 'directory':
        yield writeHeader(part);
        break;
      case 'symlink':
        yield writeHeader(part);
        break;
      case 'file':
        yield writeHeader({ ...part, size: part.content.length });
        yield part.content;
        yield padding(part.content.length);
        break;
      case 'layer':
        yield writeHeader({ ...part, kind: 'file', size: part.layer.tarBytes });
        yield* part.layer.read();
        yield padding(part.layer.tarBytes);
        break;
    }
  }
  yield TAR_END;
  onEnd();
}

/** Everything that will be written, in order. Pure. */
export function planParts(images: readonly SavedImage[]): Part[] {
  const layers = new LayerParts();
  const configs = new Map<string, Part>();
  const manifest: unknown[] = [];
  const saved = new Set(images.map(({ id }) => id));
  // By names that users give: `constructor` and `__proto__` are such.
  const repositories = new Map<string, Map<string, string>>();
  for (const image of images) {
    const hex = image.id.slice('sha256:'.length);
    const mtime = secondsOf(image.config.created);
    const ids = layers.add(image, mtime);
    const name = `${hex}.json`;
    configs.set(name, { name, kind: 'file', content: image.configBytes, mtime });
    const tags = image.names.map(({ repository, tag }) => `${repository}:${tag}`);
    manifest.push({
      Config: name,
      RepoTags: tags.length === 0 ? null : tags,
      Layers: ids.map((id) => `${id}/layer.tar`),
      ...(image.parentId !== undefined && saved.has(image.parentId) && { Parent: image.parentId }),
    });
    for (const { repository, tag } of image.names) {
      const top = ids.at(-1);
      if (top !== undefined) {
        const tops = repositories.get(repository) ?? new Map<string, string>();
        repositories.set(repository, tops.set(tag, top));
      }
    }
  }
  const documents = [document('manifest.json', manifest)];
  if (repositories.size > 0) {
    const all = [...repositories].map(([name, tops]) => [name, Object.fromEntries(tops)] as const);
    documents.push(document('repositories', Object.fromEntries(all)));
  }
  return [...layers.parts, ...configs.values(), ...documents];
}

/** The layers' directories; a layer of two images is written once, a second directory of it holds a link. */
class LayerParts {
  readonly parts: Part[] = [];
  readonly #written = new Set<string>();
  readonly #firstOf = new Map<string, string>();

  /** Adds an image's layers; answers their directories, bottom first. */
  add(image: SavedImage, mtime: number): string[] {
    const ids: string[] = [];
    for (const [index, layer] of image.layers.entries()) {
      const isTop = index === image.layers.length - 1;
      const parent = ids.at(-1);
      const id = legacyId(layer, parent, isTop ? image.id : undefined);
      ids.push(id);
      if (!this.#written.has(id)) {
        this.#written.add(id);
        const json = isTop ? topJson(image, id, parent) : layerJson(image, index, id, parent);
        this.#directory(id, json, layer, mtime);
      }
    }
    return ids;
  }

  #directory(id: string, json: unknown, layer: SavedLayer, mtime: number): void {
    const name = `${id}/layer.tar`;
    const first = this.#firstOf.get(layer.diffId);
    this.parts.push(
      { name: `${id}/`, kind: 'directory', mtime },
      { name: `${id}/VERSION`, kind: 'file', content: Buffer.from('1.0'), mtime },
      { name: `${id}/json`, kind: 'file', content: Buffer.from(JSON.stringify(json)), mtime },
      first === undefined
        ? { name, kind: 'layer', layer, mtime }
        : { name, kind: 'symlink', target: `../${first}/layer.tar`, mtime },
    );
    this.#firstOf.set(layer.diffId, first ?? id);
  }
}

/** A name for a layer in the oldest format: any 64 digits that are the same for the same layer on the same parents. */
function legacyId(layer: SavedLayer, parent: string | undefined, imageId: string | undefined): string {
  const text = JSON.stringify([layer.chainId, parent ?? '', imageId ?? '']);
  return createHash('sha256').update(text).digest('hex');
}

function topJson(image: SavedImage, id: string, parent: string | undefined): unknown {
  const config = asObject(parseJson(image.configBytes, image.id), image.id);
  const kept = Object.entries(config).filter(([key]) => !['rootfs', 'history', 'id', 'parent'].includes(key));
  return { id, ...(parent === undefined ? {} : { parent }), ...Object.fromEntries(kept) };
}

function layerJson(image: SavedImage, index: number, id: string, parent: string | undefined): unknown {
  const step = image.config.history.filter((entry) => !entry.emptyLayer)[index];
  return {
    id,
    ...(parent === undefined ? {} : { parent }),
    created: step?.created ?? '1970-01-01T00:00:00Z',
    container_config: { Cmd: step === undefined || step.createdBy === '' ? null : [step.createdBy] },
    os: image.config.os,
    architecture: image.config.architecture,
  };
}

function document(name: string, value: unknown): Part {
  return { name, kind: 'file', content: Buffer.from(`${JSON.stringify(value)}\n`), mtime: 0 };
}

function secondsOf(created: string | undefined): number {
  return created === undefined ? 0 : Math.max(0, Date.parse(created) / 1000);
}
