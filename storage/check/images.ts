import { createHash } from 'node:crypto';
import { errorText } from '../../daemon/base/errors.ts';
import type { LayerRow } from '../database/rows.ts';
import type { RecordedImage } from '../database/store-records.ts';
import { chainIds } from '../layers/chain.ts';
import { parseImageConfig } from '../image/image-config.ts';
import { whole, type Finding } from './finding.ts';
import { imageName, type Store } from './store.ts';

/** Images whose configuration is not what their id says, or whose layers are not those that it lists. */
export function checkImages(store: Store): Finding[] {
  const layers = store.records.layers();
  return store.records.images().flatMap((image) => {
    const subject = `image ${imageName(image)}`;
    const read = readDiffIds(image);
    if (typeof read === 'string') {
      return [
        {
          kind: 'image',
          subject,
          problem: read,
          remedy: 'it is moved to the quarantine table; pull or load it again',
          repair: () => {
            store.records.quarantineImage(image, read);
            return whole('it was moved to the quarantine table with its names: pull or load it again');
          },
        },
      ];
    }
    return checkLayersOf(store, { image, diffIds: read, layers, subject });
  });
}

/** Its diff IDs, or what is wrong with the configuration. */
function readDiffIds({ id, config }: RecordedImage): readonly string[] | string {
  const digest = `sha256:${createHash('sha256').update(config).digest('hex')}`;
  if (digest !== id) {
    return `has a configuration with the digest ${digest}, which is not its id`;
  }
  try {
    return parseImageConfig(config, id).diffIds;
  } catch (error) {
    return `has a configuration that cannot be read: ${errorText(error)}`;
  }
}

/** The rows that an image's layers should have can be told from its configuration. */
function checkLayersOf(
  store: Store,
  {
    image,
    diffIds,
    layers,
    subject,
  }: { image: RecordedImage; diffIds: readonly string[]; layers: readonly LayerRow[]; subject: string },
): Finding[] {
  const byChain = new Map(layers.map((layer) => [layer.chainId, layer.id]));
  const chain = chainIds(diffIds);
  const isRight =
    image.layerIds.length === chain.length &&
    chain.every((chainId, position) => byChain.get(chainId) === image.layerIds[position]);
  if (isRight) {
    return [];
  }
  const wrong = chain.findIndex((chainId, position) => byChain.get(chainId) !== image.layerIds[position]);
  const which =
    diffIds[wrong] === undefined ? 'more layers than it has' : `no row for layer ${diffIds[wrong]}`;
  return [
    {
      kind: 'image',
      subject,
      problem: `has ${which}`,
      remedy: 'the rows are made anew from its configuration',
      repair: () => {
        restoreRows(store, image, diffIds);
        return whole('the rows were made anew from its configuration');
      },
    },
  ];
}

function restoreRows({ records }: Store, image: RecordedImage, diffIds: readonly string[]): void {
  const existing = records.layers();
  const taken = new Set(existing.map(({ id }) => id));
  const ids: number[] = [];
  for (const [position, chainId] of chainIds(diffIds).entries()) {
    const known = existing.find((layer) => layer.chainId === chainId);
    if (known !== undefined) {
      ids.push(known.id);
      continue;
    }
    // The id that the image remembers still names the directory, unless another layer has it.
    const remembered = image.layerIds[position];
    const id = remembered !== undefined && !taken.has(remembered) ? remembered : records.nextLayerId();
    taken.add(id);
    const parentId = ids.at(-1) ?? null;
    // Its size is found when the layer itself is read.
    records.putLayer({ id, diffId: diffIds[position] ?? '', chainId, parentId, sizeBytes: 0 });
    ids.push(id);
  }
  records.setImageLayers(image.id, ids);
}
