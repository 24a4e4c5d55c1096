import { formatPlatform, type Platform } from '../../../storage/image/platform.ts';
import type { DocumentAnnotations } from '../../../storage/database/manifest-list-rows.ts';
import { keptAnnotations } from '../../../storage/image-archives/annotations.ts';
import { invalidArgument } from '../../base/errors.ts';

/** What is annotated: documents, or the descriptors that name them. */
export type AnnotatedPlace = 'manifest' | 'manifest-descriptor' | 'index' | 'index-descriptor';

export interface Annotation {
  place: AnnotatedPlace;
  /** `linux/arm64`; undefined = the images of all platforms. */
  platform: string | undefined;
  name: string;
  value: string;
}

/** `annotation.NAME`, `annotation-index.NAME`, `annotation-manifest[linux/amd64].NAME`. */
const KEY = /^annotation(?:-(manifest|manifest-descriptor|index|index-descriptor))?(?:\[([^\]]+)\])?\.(.+)$/;

/** Takes annotations out of the options of an exporter. Throws invalid_argument. Pure but for that. */
export function takeAnnotations(left: Map<string, string>): Annotation[] {
  const found: Annotation[] = [];
  for (const [key, value] of left) {
    const [, place, platform, name = ''] = KEY.exec(key) ?? [];
    if (name === '') {
      continue;
    }
    const where = (place ?? 'manifest') as AnnotatedPlace; // One of those that the pattern has.
    if (platform !== undefined && where.startsWith('index')) {
      throw invalidArgument(`option ${key}: an index has no platform`);
    }
    left.delete(key);
    found.push({ place: where, platform, name, value });
  }
  return found;
}

/** Those of a document; what is said of a platform goes before what is said of all. Pure. */
export function annotationsOf(
  all: readonly Annotation[],
  place: AnnotatedPlace,
  platform?: Platform,
): Map<string, string> {
  const here = all.filter((each) => each.place === place);
  const own = platform === undefined ? undefined : formatPlatform(platform);
  const pairs = (wanted: string | undefined): [string, string][] =>
    here.flatMap((each) => (each.platform === wanted ? [[each.name, each.value]] : []));
  return new Map([...pairs(undefined), ...(own === undefined ? [] : pairs(own))]);
}

/** Those of a document and of its descriptor, as they are kept; undefined = there are none. */
export function placedAnnotations(
  all: readonly Annotation[],
  place: 'manifest' | 'index',
  platform?: Platform,
): DocumentAnnotations | undefined {
  return keptAnnotations(`annotations of the ${place}`, {
    own: Object.fromEntries(annotationsOf(all, place, platform)),
    descriptor: Object.fromEntries(annotationsOf(all, `${place}-descriptor`, platform)),
  });
}

/** Throws invalid_argument for annotations of what a result does not have. Pure. */
export function refuseAnnotations(
  all: readonly Annotation[],
  { platforms, isIndex }: { platforms: readonly Platform[]; isIndex: boolean },
): void {
  if (!isIndex && all.some(({ place }) => place.startsWith('index'))) {
    throw invalidArgument('index annotations not supported for single platform export');
  }
  const known = platforms.map((each) => formatPlatform(each));
  const other = all.find(({ platform }) => platform !== undefined && !known.includes(platform));
  if (other !== undefined) {
    throw invalidArgument(
      `annotation ${other.name} is for ${other.platform}, the result is for ${known.join(' and ')}`,
    );
  }
}
