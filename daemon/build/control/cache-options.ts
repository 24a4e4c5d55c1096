import type { NamedCache } from '../../../api/types/build/ports.ts';
import { invalidArgument, notImplemented } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';

/** Where the cache of a build goes. */
export type CacheExport =
  /** Into the image itself. */
  | { type: 'inline' }
  | ({ type: 'registry'; reference: string } & WrittenCache)
  | ({ type: 'local'; directory: string } & WrittenCache);

interface WrittenCache {
  /** `min`: of the image's own layers; `max`: of all stages. */
  mode: 'min' | 'max';
  /** An image's manifest, instead of an index. */
  isImage: boolean;
  /** A failure is told, and the build is well. */
  ignoresErrors: boolean;
}

/** A cache to be looked into. */
export type CacheImport =
  | { type: 'registry'; reference: string }
  | { type: 'local'; directory: string; digest: string };

const FLAGS: Readonly<Record<string, boolean>> = {
  '1': true,
  t: true,
  true: true,
  '0': false,
  f: false,
  false: false,
};

/** Reads `--cache-to`. Throws not_implemented, or invalid_argument, that names what it is about. Pure. */
export function readCacheExports(asked: readonly NamedCache[]): CacheExport[] {
  bound(asked);
  return asked.map(({ type, attributes }) => {
    const all = new Attributes(`cache export ${type}`, attributes);
    const found = exportOf(type, all);
    all.refuseOthers();
    return found;
  });
}

function exportOf(type: string, all: Attributes): CacheExport {
  switch (type) {
    case 'inline':
      all.oneOf('mode', ['min']);
      return { type };
    case 'registry':
      return { type, reference: all.needed('ref'), ...writtenCache(all) };
    case 'local':
      // The client keeps it under its tag.
      all.text('tag');
      return { type, directory: all.needed('dest'), ...writtenCache(all) };
    default:
      throw notImplemented(`cache export ${type} is not supported: inline, local and registry are`);
  }
}

function writtenCache(all: Attributes): WrittenCache {
  // What layers are: no other is written.
  all.oneOf('compression', ['gzip']);
  all.oneOf('oci-mediatypes', ['true']);
  all.flag('force-compression', false);
  return {
    mode: all.oneOf('mode', ['min', 'max']) === 'max' ? 'max' : 'min',
    isImage: all.flag('image-manifest', true),
    ignoresErrors: all.flag('ignore-error', false),
  };
}

/** Reads `--cache-from`. Throws as `readCacheExports`. Pure. */
export function readCacheImports(asked: readonly NamedCache[]): CacheImport[] {
  bound(asked);
  return asked.map(({ type, attributes }) => {
    const all = new Attributes(`cache import ${type}`, attributes);
    switch (type) {
      case 'registry': {
        const reference = all.needed('ref');
        all.refuseOthers();
        return { type, reference };
      }
      case 'local': {
        // The client has looked for the digest of its tag.
        all.text('tag');
        const found = { type, directory: all.needed('src'), digest: all.needed('digest') } as const;
        all.refuseOthers();
        return found;
      }
      default:
        throw notImplemented(`cache import ${type} is not supported: local and registry are`);
    }
  });
}

/** The same named twice is one, in the order in which they came first. Pure. */
export function namedCaches(...lists: readonly (readonly NamedCache[])[]): NamedCache[] {
  const all = lists.flat().map((named) => {
    const sorted = [...named.attributes].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return [JSON.stringify([named.type, sorted]), named] as const;
  });
  return [...new Map(all.toReversed()).entries()].toReversed().map(([, named]) => named);
}

/** What a frontend is told of caches: a list in JSON, and of old clients names of images. Pure. */
export function cachesOfAttributes(attributes: ReadonlyMap<string, string>): NamedCache[] {
  const list = attributes.get('cache-imports') ?? '';
  const names = (attributes.get('cache-from') ?? '').split(',').filter((name) => name !== '');
  const old = names.map((name) => ({ type: 'registry', attributes: new Map([['ref', name]]) }));
  return [...(list === '' ? [] : parseList(list)), ...old];
}

function parseList(text: string): NamedCache[] {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw invalidArgument(`cache-imports ${text.slice(0, 200)}: must be JSON`, { cause: error });
  }
  if (list === null) {
    return [];
  }
  if (!Array.isArray(list)) {
    throw invalidArgument(`cache-imports ${text.slice(0, 200)}: must be a list`);
  }
  return list.map((item: unknown) => {
    const { Type: type, Attrs: attributes } = recordOf(item, text);
    const entries = Object.entries(recordOf(attributes ?? {}, text));
    if (typeof type !== 'string' || entries.some(([, value]) => typeof value !== 'string')) {
      throw invalidArgument(`cache-imports ${text.slice(0, 200)}: each must have a Type and texts as Attrs`);
    }
    return { type, attributes: new Map(entries.map(([name, value]) => [name, String(value)])) };
  });
}

function recordOf(value: unknown, text: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidArgument(`cache-imports ${text.slice(0, 200)}: must be a list of objects`);
  }
  return { ...value };
}

function bound(asked: readonly NamedCache[]): void {
  if (asked.length > limits.cachesMax) {
    throw invalidArgument(`${asked.length} caches are named, more than ${limits.cachesMax}`);
  }
}

/** Attributes of one cache. What nobody has read is refused at the end. */
class Attributes {
  readonly #what: string;
  readonly #all: ReadonlyMap<string, string>;
  readonly #read = new Set<string>();

  constructor(what: string, all: ReadonlyMap<string, string>) {
    this.#what = what;
    this.#all = all;
  }

  text(name: string): string {
    this.#read.add(name);
    return this.#all.get(name) ?? '';
  }

  needed(name: string): string {
    const text = this.text(name);
    if (text === '') {
      throw invalidArgument(`${this.#what}: ${name} is missing`);
    }
    return text;
  }

  oneOf(name: string, values: readonly string[]): string {
    const text = this.text(name);
    if (text !== '' && !values.includes(text)) {
      throw notImplemented(
        `${this.#what}: ${name}=${text} is not supported: ${values.join(' and ')} may be said`,
      );
    }
    return text;
  }

  flag(name: string, otherwise: boolean): boolean {
    const text = this.text(name);
    if (text === '') {
      return otherwise;
    }
    const value = Object.hasOwn(FLAGS, text.toLowerCase()) ? FLAGS[text.toLowerCase()] : undefined;
    if (value === undefined) {
      throw invalidArgument(`${this.#what}: ${name}=${text} must be true or false`);
    }
    return value;
  }

  refuseOthers(): void {
    const other = [...this.#all].find(([name, value]) => !this.#read.has(name) && value !== '');
    if (other !== undefined) {
      throw notImplemented(`${this.#what}: ${other.join('=')} is not supported`);
    }
  }
}
