import type { AskedOutput } from '../../../api/types/build/session.ts';
import { invalidArgument, notImplemented } from '../../base/errors.ts';
import { takeAnnotations, type Annotation } from './annotations.ts';
import { takeLayerFormat, type LayerFormat } from './layer-format.ts';
import { OptionsLeft } from './options-left.ts';

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

/** An image in the store, in registries, or in both. */
export interface ImageOutput {
  kind: 'image';
  names: readonly string[];
  /** It goes to the registries of its names, too; by its digest alone: it has no name then, here and there. */
  push: 'none' | 'names' | 'digest';
  /** In the store it is also called by its digest in the repositories of its names. */
  isCanonical: boolean;
  /** A repository that it is called by its digest in; `''` = none. */
  danglingPrefix: string;
  /** `usual`: where the store can hold it. */
  isStored: boolean | 'usual';
  /** As it is pushed. */
  layers: LayerFormat;
  annotations: readonly Annotation[];
  epochSeconds: number | undefined;
  /** No file of its own is later than that (`rewrite-timestamp`). */
  rewritesTimes: boolean;
}

/** An image as a tarball, or as a layout in a directory of the client. */
export interface ArchiveOutput {
  kind: 'archive';
  format: 'oci' | 'docker';
  names: readonly string[];
  isTar: boolean;
  layers: LayerFormat;
  annotations: readonly Annotation[];
  epochSeconds: number | undefined;
  /** No file of its own is later than that (`rewrite-timestamp`). */
  rewritesTimes: boolean;
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
  const left = new OptionsLeft(attributes);
  const output = outputOf(type, left);
  left.refuse(type);
  return output;
}

/** Takes what it reads from `left`. */
function outputOf(type: string, left: OptionsLeft): Output {
  if (type !== 'moby') {
    // Where the client puts it; some tell the engine.
    left.take('dest');
  }
  const epochSeconds = readEpoch('source-date-epoch', left.take('source-date-epoch'));
  switch (type) {
    case 'moby':
      // What compose says of each image that it does not push.
      left.only('load', ['true', '1']);
      // Clients read it themselves: images of the store are told by their digests alone (docker buildx).
      left.flag('prefer-image-digest', false);
      return imageOf(type, left, epochSeconds);
    case 'image':
      return imageOf(type, left, epochSeconds);
    case 'local':
    case 'tar':
      left.only('mode', ['copy']);
      return { kind: type, isSplit: left.flag('platform-split', true), epochSeconds };
    case 'oci':
    case 'docker':
      return archiveOf(type, left, epochSeconds);
    default:
      throw invalidArgument(`exporter ${JSON.stringify(type)} could not be found`);
  }
}

/** `moby`: what clients ask for that know an engine's store; the image is there where that can hold it. */
function imageOf(type: 'moby' | 'image', left: OptionsLeft, epochSeconds: number | undefined): ImageOutput {
  const isStored = left.all.has('store') ? left.flag('store', true) : 'usual';
  // What is stored is files already.
  left.flag('unpack', true);
  const isPushed = left.flag('push', false);
  const isByDigest = left.flag('push-by-digest', false);
  const names = namesOf(left);
  if (isPushed && names.length === 0) {
    throw invalidArgument(`exporter ${type}: push=true needs a name`);
  }
  if (isByDigest && !isPushed) {
    throw invalidArgument(`exporter ${type}: push-by-digest=true needs push=true`);
  }
  const annotations = takeAnnotations(left.all);
  const layers = takeLayerFormat(type, left, { isOci: false, hasAnnotations: annotations.length > 0 });
  if (!isPushed && layers.isForced) {
    throw notImplemented(
      `exporter ${type}: compression and force-compression are of an image that is pushed: ` +
        'the store has files (push=true, or type=oci)',
    );
  }
  const rewritesTimes = left.flag('rewrite-timestamp', false);
  const push = isByDigest ? 'digest' : isPushed ? 'names' : 'none';
  const byDigest = byDigestOf(left, { names, isPushed });
  return {
    kind: 'image',
    names,
    push,
    ...byDigest,
    isStored,
    layers,
    annotations,
    epochSeconds,
    rewritesTimes,
  };
}

/** As BuildKit's exporter of images has it (exporter/containerimage/exptypes/keys.go, where one is misspelt, too). */
function byDigestOf(
  left: OptionsLeft,
  { names, isPushed }: { names: readonly string[]; isPushed: boolean },
): Pick<ImageOutput, 'isCanonical' | 'danglingPrefix'> {
  const isCanonical = left.flag('name-canonical', false);
  const prefix = left.take('dangling-name-prefix');
  const isForNameless = left.flag('danging-name-empty-only', false);
  const danglingPrefix = isForNameless && names.length > 0 ? '' : prefix;
  if (isPushed && danglingPrefix !== '') {
    throw notImplemented(
      `exporter image: dangling-name-prefix=${prefix} is not supported with push=true: it is a name of the store`,
    );
  }
  return { isCanonical, danglingPrefix };
}

function archiveOf(
  format: 'oci' | 'docker',
  left: OptionsLeft,
  epochSeconds: number | undefined,
): ArchiveOutput {
  const isTar = left.flag('tar', true);
  const annotations = takeAnnotations(left.all);
  const usual = { isOci: format === 'oci', hasAnnotations: annotations.length > 0 };
  const layers = takeLayerFormat(format, left, usual);
  const rewritesTimes = left.flag('rewrite-timestamp', false);
  const names = namesOf(left);
  return { kind: 'archive', format, names, isTar, layers, annotations, epochSeconds, rewritesTimes };
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

function namesOf(left: OptionsLeft): string[] {
  return left
    .take('name')
    .split(',')
    .filter((name) => name !== '');
}
