import { Readable } from 'node:stream';
import { imageStatements } from '../../../storage/image-archives/image-statements.ts';
import { ociArchive, type OciGroup, type OciImage } from '../../../storage/image-archives/oci-archive.ts';
import { layerConfigs } from '../../../storage/image-archives/layer-configs.ts';
import { annotationMap } from '../../../storage/image-archives/oci-documents.ts';
import { chainIds } from '../../../storage/layers/chain.ts';
import type { ImageContext } from '../context.ts';
import type { ImageRecord } from '../image-index.ts';
import { attestationsIn } from '../lists/attestations.ts';
import { platformOf } from '../manifests.ts';
import { listedAs, type Chosen } from './chosen.ts';

const NANOS_PER_SECOND = 1_000_000_000n;

/**
 * What was chosen as `docker save` writes it since 25: an OCI layout, layers as the plain tars that they are, with the
 * documents of older engines. These have of each list the image that its names mean; layers' own configurations, which
 * docker before 1.10 had, come with images alone. `onEnd` is called when the last byte was taken.
 */
export function layoutOf(context: ImageContext, chosen: readonly Chosen[], onEnd: () => void): Readable {
  const saved = new Set(chosen.map(({ meant }) => meant.row.id));
  const groups = chosen.map((each) => groupOf(context, each, saved));
  return Readable.from(write(groups, onEnd), { objectMode: false, highWaterMark: 1024 * 1024 });
}

async function* write(groups: readonly OciGroup[], onEnd: () => void): AsyncGenerator<Buffer> {
  yield* ociArchive(groups, 'saved');
  onEnd();
}

function groupOf(context: ImageContext, chosen: Chosen, saved: ReadonlySet<string>): OciGroup {
  const { images, meant, list, tags } = chosen;
  const names = tags.map(({ repository, tag }) => `${repository}:${tag}`);
  const parentId = context.index.parentOf(meant.row.id)?.row.id;
  const written = images.map((image) => ociImage(context, image, chosen));
  return {
    images: written,
    meant: written[images.indexOf(meant)],
    names,
    parentId: parentId !== undefined && saved.has(parentId) ? parentId : undefined,
    annotations: annotationMap(list?.annotations?.own),
    descriptorAnnotations: annotationMap(list?.annotations?.descriptor),
    told: () => undefined /* there is nobody to be told */,
  };
}

function ociImage(context: ImageContext, image: ImageRecord, { list, isAlone }: Chosen): OciImage {
  const { index, layers } = context;
  const platform = platformOf(image);
  const annotations = listedAs(list, image)?.annotations;
  // Read now: the list may be removed before its turn comes.
  const attestations = list === undefined || isAlone ? [] : attestationsIn(context, list, image.row.id);
  return {
    config: image.row.config,
    layers: image.row.layerIds.map((layerId) => {
      const { id, diffId } = index.layer(layerId);
      return {
        diffId,
        open: () =>
          Promise.resolve({
            digest: diffId,
            bytes: layers.tarBytes(id),
            read: () => layers.read(id, diffId),
            [Symbol.asyncDispose]: () => Promise.resolve(),
          }),
      };
    }),
    compression: 'uncompressed',
    isOci: list?.isOci ?? true,
    platform: list === undefined ? undefined : platform,
    isByPlatform: list !== undefined && !isAlone,
    annotations: annotationMap(annotations?.own),
    descriptorAnnotations: annotationMap(annotations?.descriptor),
    statements: (digest) => imageStatements({ attestations, platform }, { names: list?.names ?? [], digest }),
    ...(list === undefined && {
      mtime: Math.max(0, Number(image.row.createdNano / NANOS_PER_SECOND)),
      layerConfigs: layerConfigs(image.row.config, chainIds(image.config.diffIds)),
    }),
  };
}
