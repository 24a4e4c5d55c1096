import type { Filters } from '../../api/types/requests.ts';
import type { ImageDescriptor, ImageManifest, ImageSummary } from '../../api/types/image.ts';
import { invalidArgument } from '../base/errors.ts';
import { filterBool, hasLabel } from '../base/filters.ts';
import { parseMoment } from '../base/go/moment.ts';
import { familiarRepository } from '../../storage/references/reference.ts';
import { matchPattern } from '../../storage/references/match.ts';
import { digestName, tagName, type ImageIndex, type ImageRecord } from './image-index.ts';
import { labelsOf, runConfig, secondsOf } from './wire.ts';

/** A filter either drops an image or leaves it; `reference` also decides which of its names are shown. */
type ImageTest = (image: ImageRecord) => boolean;

/** Filters of GET /images/json, each made from its values. */
const FILTERS: Readonly<
  Record<string, (values: readonly string[], index: ImageIndex, nowNano: bigint) => ImageTest>
> = {
  dangling: (values, index) => {
    const wanted = filterBool('dangling', values);
    // With a digest alone an image is neither: no name shows it, but a registry has it (moby daemon/images/images.go).
    return ({ row }) =>
      wanted ? index.tagsOf(row.id).length === 0 && !isStep(index, row.id) : hasName(index, row.id);
  },
  label: (values) => (image) => values.every((value) => hasLabel(labelsOf(image), value)),
  before: (values, index) => {
    const limits = values.map((value) => createdOf(index.find(value)));
    return (image) => limits.every((limit) => createdOf(image) < limit);
  },
  since: (values, index) => {
    const limits = values.map((value) => createdOf(index.find(value)));
    return (image) => limits.every((limit) => createdOf(image) > limit);
  },
  until: (values, _index, nowNano) => {
    const limits = values.map((value) => Number(parseMoment(value, nowNano) / 1_000_000n));
    return (image) => limits.every((limit) => createdOf(image) <= limit);
  },
  reference: () => () => true,
};

/**
 * The answer of GET /images/json, newest first. Throws invalid_argument for an unknown filter or a value it cannot
 * read.
 */
export function listImages(
  index: ImageIndex,
  options: {
    /** Also images without a name that others were made from. */
    all: boolean;
    filters: Filters;
    sharedSize: boolean;
    nowNano: bigint;
    /** How many containers are made of an image. */
    containers: (imageId: string) => number;
    /** What its names mean. */
    descriptor: (image: ImageRecord) => ImageDescriptor | undefined;
    /** Where they are asked for. */
    manifests?: ((image: ImageRecord) => ImageManifest[]) | undefined;
  },
): ImageSummary[] {
  // What is here beside an image, for another platform, is shown by its manifests.
  const tests: ImageTest[] = [({ row }) => hasName(index, row.id) || !index.lists.isListed(row.id)];
  if (!options.all) {
    tests.push(({ row }) => !isStep(index, row.id));
  }
  for (const [key, values] of options.filters) {
    const make = Object.hasOwn(FILTERS, key) ? FILTERS[key] : undefined;
    if (make === undefined) {
      throw invalidArgument(`invalid filter '${key}'`);
    }
    if (values.length > 0) {
      tests.push(make(values, index, options.nowNano));
    }
  }
  const patterns = options.filters.get('reference') ?? [];
  const sharedLayers = options.sharedSize ? layersOfSeveral(index) : undefined;
  const summaries: ImageSummary[] = [];
  for (const image of index.images()) {
    const names = namesMatching(index, image, patterns);
    const found = names.tags.length + names.digests.length > 0;
    if (tests.every((test) => test(image)) && (patterns.length === 0 || found)) {
      const descriptor = options.descriptor(image);
      summaries.push({
        ...toSummary(index, image, names, sharedLayers),
        Containers: [image.row.id, ...index.lists.companionsOf(image.row.id)]
          .map((id) => options.containers(id))
          .reduce((sum, count) => sum + count, 0),
        ...(descriptor && { Descriptor: descriptor }),
        ...(options.manifests && { Manifests: options.manifests(image) }),
      });
    }
  }
  return summaries.toSorted((a, b) => b.Created - a.Created || (a.Id < b.Id ? -1 : 1));
}

function toSummary(
  index: ImageIndex,
  image: ImageRecord,
  names: Names,
  sharedLayers: ReadonlySet<number> | undefined,
): Omit<ImageSummary, 'Containers'> {
  const { row, config } = image;
  const shared = row.layerIds.filter((id) => sharedLayers?.has(id) === true);
  return {
    Id: row.id,
    ParentId: index.parentOf(row.id)?.row.id ?? '',
    RepoTags: names.tags,
    RepoDigests: names.digests,
    Created: secondsOf(config.created),
    Size: row.sizeBytes,
    SharedSize:
      sharedLayers === undefined ? -1 : shared.reduce((total, id) => total + index.layer(id).sizeBytes, 0),
    Labels: runConfig(config.config).Labels ?? null,
  };
}

/** Others were made from it, and nothing names it. */
function isStep(index: ImageIndex, id: string): boolean {
  return !hasName(index, id) && index.childrenOf(id).length > 0;
}

function hasName(index: ImageIndex, id: string): boolean {
  return index.tagsOf(id).length + index.digestsOf(id).length > 0;
}

interface Names {
  tags: string[];
  digests: string[];
}

function namesMatching(index: ImageIndex, image: ImageRecord, patterns: readonly string[]): Names {
  const matches = (name: string, repository: string): boolean =>
    patterns.length === 0 ||
    patterns.some(
      (pattern) => matchPattern(pattern, name) || matchPattern(pattern, familiarRepository(repository)),
    );
  return {
    tags: index
      .tagsOf(image.row.id)
      .filter((tag) => matches(tagName(tag), tag.repository))
      .map((tag) => tagName(tag)),
    digests: index
      .digestsOf(image.row.id)
      .filter((digest) => matches(digestName(digest), digest.repository))
      .map((digest) => digestName(digest)),
  };
}

/** Layers that more than one image stands on. */
function layersOfSeveral(index: ImageIndex): Set<number> {
  const seen = new Set<number>();
  const several = new Set<number>();
  for (const { row } of index.images()) {
    for (const id of new Set(row.layerIds)) {
      if (seen.has(id)) {
        several.add(id);
      }
      seen.add(id);
    }
  }
  return several;
}

/** Milliseconds since the epoch. */
export function createdOf(image: ImageRecord): number {
  return image.config.created === undefined ? 0 : Date.parse(image.config.created);
}
