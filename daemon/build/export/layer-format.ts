import type { LayerCompression } from '../../../storage/image-archives/oci-documents.ts';
import { invalidArgument, notImplemented } from '../../base/errors.ts';
import type { OptionsLeft } from './options-left.ts';

/** How the layers of an image are given to others. */
export interface LayerFormat {
  compression: LayerCompression;
  /** Undefined: the usual one. */
  level: number | undefined;
  /** Also a layer that is somewhere in another form is sent in this one. */
  isForced: boolean;
  /** Media types of the OCI image specification, else those of Docker. */
  isOci: boolean;
  /** The client wants those of Docker, and no others. */
  isDocker?: true;
}

/** The highest that each takes, as BuildKit documents it. */
const LEVELS: Readonly<Record<string, number>> = { gzip: 9, zstd: 22 };

/** Reads `compression`, `compression-level`, `force-compression` and `oci-mediatypes`. Throws by their names. */
export function takeLayerFormat(
  exporter: string,
  left: OptionsLeft,
  usual: { isOci: boolean; hasAnnotations: boolean },
): LayerFormat {
  const said = left.take('compression');
  const compression = said === '' ? 'gzip' : said;
  if (compression !== 'gzip' && compression !== 'uncompressed' && compression !== 'zstd') {
    throw notImplemented(
      `exporter ${exporter}: compression ${compression} is not supported: gzip, zstd and uncompressed are`,
    );
  }
  const level = levelOf(compression, left.take('compression-level'));
  const isSaid = (left.all.get('oci-mediatypes') ?? '') !== '';
  const isOci = left.flag('oci-mediatypes', usual.isOci);
  return {
    compression,
    level,
    // Every layer is stored as it is, not in a form of a registry's: none stays in another but gzip.
    isForced: left.flag('force-compression', false) || compression !== 'gzip' || level !== undefined,
    // Docker's manifests have neither, and BuildKit does the same.
    isOci: isOci || compression === 'zstd' || usual.hasAnnotations,
    ...(isSaid && !isOci && { isDocker: true }),
  };
}

/** Docker's media types have nothing for what is said of images. Throws invalid_argument. Pure. */
export function attestedFormat(format: LayerFormat): LayerFormat {
  if (format.isDocker) {
    throw invalidArgument('cannot export attestations with "oci-mediatypes=false"');
  }
  return { ...format, isOci: true };
}

function levelOf(compression: string, text: string): number | undefined {
  if (text === '') {
    return undefined;
  }
  const highest = LEVELS[compression];
  const level = Number(text);
  if (highest === undefined || !/^\d+$/.test(text) || level > highest) {
    throw invalidArgument(
      `option compression-level=${text}: ` +
        (highest === undefined ? `${compression} has no levels` : `${compression} has 0 to ${highest}`),
    );
  }
  return level;
}
