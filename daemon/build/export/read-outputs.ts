import { invalidArgument, notImplemented } from '../../base/errors.ts';

/** As a client names it, with its attributes. */
export interface AskedOutput {
  type: string;
  attributes: ReadonlyMap<string, string>;
}

/** Where a build's result goes. */
export type Output =
  | ImageOutput
  /** Files, each by itself or all in a tar. */
  | FilesOutput
  | ArchiveOutput;

export interface FilesOutput {
  kind: 'local' | 'tar';
  /** Results for several platforms each have a folder of their own: `linux_arm64`. */
  isSplit: boolean;
  epochSeconds: number | undefined;
}

/** An image in the store. */
export interface ImageOutput {
  kind: 'image';
  names: readonly string[];
  /** It goes to the registries of its names, too; by its digest alone: it has no name then, here and there. */
  push: 'none' | 'names' | 'digest';
  epochSeconds: number | undefined;
}

/** A tarball of the image. */
export interface ArchiveOutput {
  kind: 'archive';
  format: 'oci' | 'docker';
  names: readonly string[];
  compression: 'uncompressed' | 'gzip';
  isOci: boolean;
  /** Of the manifest, and of its descriptor in `index.json`. */
  annotations: ReadonlyMap<string, string>;
  descriptorAnnotations: ReadonlyMap<string, string>;
  epochSeconds: number | undefined;
}

const SECONDS_MAX = 253_402_300_799;

/**
 * Reads the outputs that a client wants; none = the result stays in the cache. Throws not_implemented, naming exporter
 * and option, and invalid_argument for values that are none. Pure.
 */
export function readOutputs(asked: readonly AskedOutput[]): Output[] {
  return asked.filter(({ type }) => type !== '' && type !== 'cacheonly').map((output) => readOutput(output));
}

function readOutput({ type, attributes }: AskedOutput): Output {
  const left = new Map(attributes);
  const output = outputOf(type, left);
  for (const [name, value] of left) {
    throw notImplemented(`exporter ${type}: option ${name}=${value} is not supported`);
  }
  return output;
}

/** Takes what it reads from `left`. */
function outputOf(type: string, left: Map<string, string>): Output {
  if (type !== 'moby') {
    // Where the client puts it; some tell the engine.
    left.delete('dest');
  }
  const epochSeconds = readEpoch('source-date-epoch', take(left, 'source-date-epoch'));
  switch (type) {
    case 'moby':
      // What compose says of each image that it does not push.
      only(left, 'push', ['false', '0']);
      only(left, 'load', ['true', '1']);
      // Clients that use it push by themselves afterwards.
      flagOf(left, 'push', false);
      return { kind: 'image', names: namesOf(left), push: 'none', epochSeconds };
    case 'image':
      return imageOf(left, epochSeconds);
    case 'local':
    case 'tar':
      only(left, 'mode', ['copy']);
      return { kind: type, isSplit: flagOf(left, 'platform-split', true), epochSeconds };
    case 'oci':
    case 'docker':
      return archiveOf(type, left, epochSeconds);
    default:
      throw notImplemented(`exporter ${type} is not supported`);
  }
}

function imageOf(left: Map<string, string>, epochSeconds: number | undefined): ImageOutput {
  // An image of the engine is stored and unpacked; registries get gzip, and media types of Docker.
  only(left, 'store', ['true', '1']);
  only(left, 'unpack', ['true', '1']);
  only(left, 'compression', ['gzip']);
  only(left, 'force-compression', ['false', '0']);
  only(left, 'oci-mediatypes', ['false', '0']);
  const isPushed = flagOf(left, 'push', false);
  const isByDigest = flagOf(left, 'push-by-digest', false);
  const names = namesOf(left);
  if (isPushed && names.length === 0) {
    throw invalidArgument('exporter image: push=true needs a name');
  }
  if (isByDigest && !isPushed) {
    throw invalidArgument('exporter image: push-by-digest=true needs push=true');
  }
  return { kind: 'image', names, push: isByDigest ? 'digest' : isPushed ? 'names' : 'none', epochSeconds };
}

function archiveOf(
  format: 'oci' | 'docker',
  left: Map<string, string>,
  epochSeconds: number | undefined,
): ArchiveOutput {
  only(left, 'tar', ['true', '1']);
  const compression = take(left, 'compression');
  if (compression !== '' && compression !== 'gzip' && compression !== 'uncompressed') {
    throw notImplemented(`exporter ${format}: compression ${compression} is not supported`);
  }
  // Every layer is stored the same way as it is: there is none that would stay in another format.
  flagOf(left, 'force-compression', false);
  const isOci = flagOf(left, 'oci-mediatypes', format === 'oci');
  const names = namesOf(left);
  return {
    kind: 'archive',
    format,
    names,
    compression: compression === '' ? 'gzip' : compression,
    isOci,
    annotations: annotationsOf(left, ['annotation.', 'annotation-manifest.']),
    descriptorAnnotations: annotationsOf(left, ['annotation-manifest-descriptor.']),
    epochSeconds,
  };
}

/** A number of seconds since 1970; `''` = not said. Throws invalid_argument. Pure. */
export function readEpoch(name: string, value: string): number | undefined {
  if (value === '') {
    return undefined;
  }
  const seconds = Number(value);
  if (!/^\d+$/.test(value) || seconds > SECONDS_MAX) {
    throw invalidArgument(`invalid ${name}: ${value}: must be a number of seconds since 1970`);
  }
  return seconds;
}

function annotationsOf(left: Map<string, string>, prefixes: readonly string[]): Map<string, string> {
  const found = [...left].flatMap(([key, value]) => {
    const prefix = prefixes.find((each) => key.startsWith(each));
    return prefix === undefined ? [] : [{ key, name: key.slice(prefix.length), value }];
  });
  found.forEach(({ key }) => left.delete(key));
  return new Map(found.map(({ name, value }) => [name, value]));
}

function namesOf(left: Map<string, string>): string[] {
  return take(left, 'name')
    .split(',')
    .filter((name) => name !== '');
}

function flagOf(left: Map<string, string>, name: string, usual: boolean): boolean {
  const value = take(left, name);
  if (!/^(?:|1|t|true|0|f|false)$/i.test(value)) {
    throw invalidArgument(`option ${name}=${value}: must be true or false`);
  }
  return value === '' ? usual : /^(?:1|t)/i.test(value);
}

/** Leaves what has another value, which is refused by its name. */
function only(left: Map<string, string>, name: string, values: readonly string[]): void {
  if (values.includes(left.get(name) ?? '')) {
    left.delete(name);
  }
}

function take(left: Map<string, string>, name: string): string {
  const value = left.get(name) ?? '';
  left.delete(name);
  return value;
}
