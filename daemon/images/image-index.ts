import { createHash } from 'node:crypto';
import { errorText, invalidArgument, invariant, notFound, type EngineError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { ManifestListRow } from '../../storage/database/manifest-list-rows.ts';
import type {
  Database,
  ImageDigestRow,
  ImageParentRow,
  ImageRow,
  LayerRow,
  TagRow,
} from '../../storage/database/rows.ts';
import {
  canonicalRepository,
  familiarName,
  familiarRepository,
  parseReference,
  tryParseReference,
  withDefaultTag,
  type Reference,
} from '../../storage/references/reference.ts';
import { ManifestLists } from './lists/manifest-lists.ts';
import { parseImageConfig, type ImageConfig } from '../../storage/image/image-config.ts';

/** An image as list, inspect and create read it. */
export interface ImageRecord {
  row: ImageRow;
  config: ImageConfig;
}

const FULL_DIGEST = /^(?:sha256:)?([0-9a-f]{64})$/;
const SHORT_ID = /^(?:sha256:)?([0-9a-f]{1,64})$/;

/**
 * All images, tags and layers in memory, in step with their rows: changed right after a commit, in the same tick.
 * Reads never go to the database.
 */
export class ImageIndex {
  readonly #images = new Map<string, ImageRecord>();
  /** Canonical `repository:tag` -> image id. */
  readonly #tags = new Map<string, TagRow>();
  readonly #tagsOf = new Map<string, TagRow[]>();
  /** Canonical `repository@digest` -> image. */
  readonly #digests = new Map<string, ImageDigestRow>();
  readonly #parents = new Map<string, ImageParentRow>();
  /** Parent id -> ids of images made from it. */
  readonly #children = new Map<string, Set<string>>();
  readonly #layers = new Map<number, LayerRow>();
  readonly #layersByChain = new Map<string, LayerRow>();
  /** How many operations under way use an image. */
  readonly #holds = new Map<string, number>();
  /** Layers with a row and without a directory. */
  readonly #lost = new Set<number>();
  /** Several images under one name. */
  readonly lists = new ManifestLists();

  /** Reads all rows. An image whose configuration cannot be read is left out, with an error in the log. */
  load(
    database: Pick<Database, 'images' | 'tags' | 'manifestLists' | 'digests' | 'parents' | 'layers'>,
    log: Logger,
  ): void {
    for (const layer of database.layers.all()) {
      this.addLayer(layer);
    }
    for (const row of database.images.all()) {
      try {
        this.addImage(row, readConfig(row));
      } catch (error) {
        log.error(
          { image: row.id, reason: errorText(error) },
          'image left out: its configuration is damaged',
        );
      }
    }
    this.lists.load(database.manifestLists.all(), (id) => this.#images.has(id));
    for (const tag of database.tags.all()) {
      if (this.#images.has(tag.imageId)) {
        this.setTag(tag);
      }
    }
    for (const digest of database.digests.all()) {
      if (this.#images.has(digest.imageId)) {
        this.setDigest(digest);
      }
    }
    for (const parent of database.parents.all()) {
      if (this.#images.has(parent.imageId)) {
        this.setParent(parent);
      }
    }
  }

  images(): Iterable<ImageRecord> {
    return this.#images.values();
  }

  get(id: string): ImageRecord | undefined {
    return this.#images.get(id);
  }

  layer(id: number): LayerRow {
    const layer = this.#layers.get(id);
    invariant(layer !== undefined, `layer ${id} is not in the index`);
    return layer;
  }

  layerIds(): Set<number> {
    return new Set(this.#layers.keys());
  }

  /** A layer whose files are there: undefined also for one that is lost. */
  layerByChainId(chainId: string): LayerRow | undefined {
    const layer = this.#layersByChain.get(chainId);
    return layer !== undefined && this.#lost.has(layer.id) ? undefined : layer;
  }

  /** The layer that has lost its directory and waits for a load or pull to bring it again. */
  lostByChainId(chainId: string): LayerRow | undefined {
    const layer = this.#layersByChain.get(chainId);
    return layer !== undefined && this.#lost.has(layer.id) ? layer : undefined;
  }

  /** Those of these layers that have lost their directories. */
  lostOf(layerIds: readonly number[]): LayerRow[] {
    return layerIds.filter((id) => this.#lost.has(id)).map((id) => this.layer(id));
  }

  setLost(layerId: number): void {
    this.#lost.add(layerId);
  }

  setFound(layerId: number): void {
    this.#lost.delete(layerId);
  }

  /** Tags of an image, sorted by name. */
  tagsOf(id: string): readonly TagRow[] {
    return this.#tagsOf.get(id) ?? [];
  }

  /** Familiar names of an image, sorted: `busybox:latest`. */
  namesOf(id: string): string[] {
    return this.tagsOf(id).map((tag) => tagName(tag));
  }

  /** What registries call an image, and what builds called it by its digest here, sorted. */
  digestsOf(id: string): ImageDigestRow[] {
    return [...this.#digests.values()]
      .filter(({ imageId }) => imageId === id)
      .toSorted((a, b) => (digestName(a) < digestName(b) ? -1 : 1));
  }

  /** The image that a repository has under a digest. */
  digest(reference: Pick<Reference, 'domain' | 'path' | 'digest'>): ImageDigestRow | undefined {
    return this.#digests.get(`${canonicalRepository(reference)}@${reference.digest ?? ''}`);
  }

  tag(reference: Reference): TagRow | undefined {
    return this.#tags.get(`${canonicalRepository(reference)}:${reference.tag ?? ''}`);
  }

  /** The list that a client's text means; undefined = it means an image alone, or nothing. */
  listNamed(text: string): ManifestListRow | undefined {
    const hex = FULL_DIGEST.exec(text)?.[1];
    if (hex !== undefined) {
      const id = `sha256:${hex}`;
      return (
        this.lists.get(id) ??
        (this.#images.has(id) ? this.lists.of(id)[0] : this.lists.get(this.#digestRow(id)?.list ?? ''))
      );
    }
    const reference = tryParseReference(text);
    const { digest } = reference ?? {};
    if (reference !== undefined && digest !== undefined) {
      const { list = digest } = this.digest(reference) ?? {};
      return this.lists.get(list);
    }
    const tag = reference && this.tag(withDefaultTag(reference));
    if (tag !== undefined) {
      return tag.list === undefined ? undefined : this.lists.get(tag.list);
    }
    const image = this.#byPrefix(text);
    return image && this.lists.of(image.row.id)[0];
  }

  /** All tags of one repository, sorted. */
  tagsIn(repository: string): TagRow[] {
    return [...this.#tags.values()].filter((tag) => tag.repository === repository).toSorted(byName);
  }

  /**
   * The image that a client means: a full id (with or without `sha256:`), a full digest of its manifest, a name,
   * or a unique prefix of an id. A name
   * wins over a prefix. Throws not_found `No such image: ...`, invalid_argument for text that is no reference or a
   * prefix of several ids.
   */
  find(text: string): ImageRecord {
    const hex = FULL_DIGEST.exec(text)?.[1];
    if (hex !== undefined) {
      // Clients that build name what they built by the digest that they were told, which may be that of a manifest.
      const image = this.#images.get(`sha256:${hex}`) ?? this.#byManifest(`sha256:${hex}`);
      if (image === undefined) {
        throw noSuchImage(text);
      }
      return image;
    }
    const reference = withDefaultTag(parseReference(text));
    const named = reference.digest === undefined ? this.tag(reference) : this.digest(reference);
    const image = named === undefined ? this.#byPrefix(text) : this.#images.get(named.imageId);
    if (image === undefined) {
      throw noSuchImage(familiarName(reference));
    }
    return image;
  }

  /**
   * The same for callers that need its files. Throws not_found when layers of it are lost: clients that pull what is
   * missing (`docker run`) repair it so.
   */
  findWhole(text: string): ImageRecord {
    return this.whole(this.find(text), text);
  }

  /** An image that a client has named, with all of its files. Throws not_found as `findWhole`. */
  whole(image: ImageRecord, text: string): ImageRecord {
    const lost = this.lostOf(image.row.layerIds).map(({ diffId }) => diffId);
    if (lost.length > 0) {
      const name = this.namesOf(image.row.id)[0] ?? text;
      throw noSuchImage(`${name}: its files are incomplete (${lost.join(', ')}): pull or load it again`);
    }
    return image;
  }

  addImage(row: ImageRow, config: ImageConfig): void {
    this.#images.set(row.id, { row, config });
  }

  addLayer(layer: LayerRow): void {
    this.#layers.set(layer.id, layer);
    this.#layersByChain.set(layer.chainId, layer);
  }

  setTag(tag: TagRow): void {
    this.removeTag(tag);
    this.#tags.set(`${tag.repository}:${tag.tag}`, tag);
    this.#tagsOf.set(tag.imageId, [...this.tagsOf(tag.imageId), tag].toSorted(byName));
  }

  removeTag(tag: Pick<TagRow, 'repository' | 'tag'>): void {
    const key = `${tag.repository}:${tag.tag}`;
    const before = this.#tags.get(key);
    if (before === undefined) {
      return;
    }
    this.#tags.delete(key);
    const rest = this.tagsOf(before.imageId).filter((item) => item !== before);
    if (rest.length === 0) {
      this.#tagsOf.delete(before.imageId);
    } else {
      this.#tagsOf.set(before.imageId, rest);
    }
  }

  setDigest(row: ImageDigestRow): void {
    this.#digests.set(`${row.repository}@${row.digest}`, row);
  }

  removeDigest({ repository, digest }: Pick<ImageDigestRow, 'repository' | 'digest'>): void {
    this.#digests.delete(`${repository}@${digest}`);
  }

  setParent(row: ImageParentRow): void {
    this.#parents.set(row.imageId, row);
    const children = this.#children.get(row.parentId) ?? new Set();
    this.#children.set(row.parentId, children.add(row.imageId));
  }

  /** The image it was made from here, while that is there. */
  parentOf(id: string): ImageRecord | undefined {
    const row = this.#parents.get(id);
    return row === undefined ? undefined : this.#images.get(row.parentId);
  }

  /** An image, what it was made from here, and so on, as far as they are there. */
  lineageOf(image: ImageRecord): ImageRecord[] {
    const lineage = [image];
    for (
      let parent = this.parentOf(image.row.id);
      parent !== undefined;
      parent = this.parentOf(parent.row.id)
    ) {
      lineage.push(parent);
    }
    return lineage;
  }

  /** Images made from it here, by commits and steps of builds; `''` = from nothing. */
  childrenOf(id: string): ImageRecord[] {
    return [...(this.#children.get(id) ?? [])].flatMap((child) => this.#images.get(child) ?? []);
  }

  /** An image and all that were made from it here, and from those, as far as they are there. */
  descendantsOf(image: ImageRecord): ImageRecord[] {
    const found = [image];
    // Grows while it is walked. An image has one parent: none comes twice.
    for (const { row } of found) {
      found.push(...this.childrenOf(row.id));
    }
    return found;
  }

  /** A build or commit uses it: until disposed it cannot be removed, as if images had been made from it. */
  hold(id: string): Disposable {
    this.#holds.set(id, (this.#holds.get(id) ?? 0) + 1);
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        const count = (this.#holds.get(id) ?? 1) - 1;
        if (isHeld && count === 0) {
          this.#holds.delete(id);
        } else if (isHeld) {
          this.#holds.set(id, count);
        }
        isHeld = false;
      },
    };
  }

  isHeld(id: string): boolean {
    return this.#holds.has(id);
  }

  /** Images were made from it here, or are being made. */
  isParent(id: string): boolean {
    return this.isHeld(id) || this.childrenOf(id).length > 0;
  }

  /** A step of a build made it, here. */
  isStep(id: string): boolean {
    return (this.#parents.get(id)?.stepKey ?? null) !== null;
  }

  /** The image that a step of a build made of its parent, the newest if there are several. */
  madeBy(parentId: string, stepKey: string): ImageRecord | undefined {
    return this.childrenOf(parentId)
      .filter(({ row }) => this.#parents.get(row.id)?.stepKey === stepKey)
      .reduce<ImageRecord | undefined>(
        (newest, image) =>
          newest === undefined || image.row.createdNano > newest.row.createdNano ? image : newest,
        undefined,
      );
  }

  /** Forgets an image and its names. */
  removeImage(id: string): void {
    for (const digest of this.digestsOf(id)) {
      this.removeDigest(digest);
    }
    for (const tag of this.tagsOf(id)) {
      this.removeTag(tag);
    }
    for (const list of this.lists.of(id)) {
      this.lists.remove(list.id);
    }
    this.#images.delete(id);
    const parent = this.#parents.get(id);
    if (parent !== undefined) {
      this.#parents.delete(id);
      const siblings = this.#children.get(parent.parentId);
      siblings?.delete(id);
      if (siblings?.size === 0) {
        this.#children.delete(parent.parentId);
      }
    }
  }

  removeLayer(id: number): void {
    const layer = this.#layers.get(id);
    if (layer !== undefined) {
      this.#layers.delete(id);
      this.#layersByChain.delete(layer.chainId);
      this.#lost.delete(id);
    }
  }

  /** The image that any repository has under a digest. */
  #byManifest(digest: string): ImageRecord | undefined {
    const row = this.#digestRow(digest) ?? this.lists.get(digest);
    return row && this.#images.get(row.imageId);
  }

  #digestRow(digest: string): ImageDigestRow | undefined {
    return [...this.#digests.values()].find((each) => each.digest === digest);
  }

  #byPrefix(text: string): ImageRecord | undefined {
    const prefix = SHORT_ID.exec(text)?.[1];
    if (prefix === undefined) {
      return undefined;
    }
    const found = [...this.#images.values()].filter(({ row }) => row.id.startsWith(`sha256:${prefix}`));
    if (found.length > 1) {
      throw invalidArgument(`Multiple IDs found with provided prefix: ${text}`);
    }
    return found[0];
  }
}

function readConfig(row: ImageRow): ImageConfig {
  const found = `sha256:${createHash('sha256').update(row.config).digest('hex')}`;
  invariant(found === row.id, `the stored configuration has the digest ${found}`);
  return parseImageConfig(row.config, row.id);
}

/** It names an image by the whole of a digest: its id, or what its manifest is called. */
export function isFullDigest(text: string): boolean {
  return FULL_DIGEST.test(text);
}

/** `busybox:latest` */
export function tagName(tag: Pick<TagRow, 'repository' | 'tag'>): string {
  return `${familiarRepository(tag.repository)}:${tag.tag}`;
}

/** `busybox@sha256:...` */
export function digestName(row: Pick<ImageDigestRow, 'repository' | 'digest'>): string {
  return `${familiarRepository(row.repository)}@${row.digest}`;
}

/** The text that clients match on to decide whether to pull. */
export function noSuchImage(name: string): EngineError {
  return notFound(`No such image: ${name}`);
}

function byName(a: TagRow, b: TagRow): number {
  const [left, right] = [tagName(a), tagName(b)];
  if (left === right) {
    return 0;
  }
  return left < right ? -1 : 1;
}
