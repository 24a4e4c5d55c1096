import { createHash } from 'node:crypto';
import type { GrowingSpool } from '../../../storage/spool/growing-spool.ts';
import { parseImageConfig, type ImageConfig } from '../../../storage/image/image-config.ts';
import { chainIds } from '../../../storage/layers/chain.ts';
import {
  canonicalRepository,
  familiarName,
  familiarRepository,
  parseReference,
  withDefaultTag,
} from '../../../storage/references/reference.ts';
import { EngineError, errorText, invalidArgument, isEngineError } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import type { NewImage } from '../load/commit-image.ts';
import { commitFetched, existingLayers, Shares, type PullContext } from './fetched-layers.ts';
import type { WantedLayer } from './layer-fetch.ts';
import type { LayerSource } from './layer-source.ts';

/** An image that other engines have, none of which is believed. */
export interface ReceivableImage {
  /** sha256:..., the digest of its configuration. */
  id: string;
  /** When it was given a name there last. */
  taggedNano: bigint;
  /** Its configuration, and the bytes of the layers' tars, bottom first. */
  describe(signal: AbortSignal): Promise<{ config: Buffer; layerBytes: readonly number[] }>;
  holders: readonly {
    addr: string;
    /** The tar of a layer, from 0. */
    readLayer(position: number, signal: AbortSignal): AsyncIterable<Buffer>;
  }[];
}

/** Bytes gathered before one write. */
const WRITE_BYTES = 1024 * 1024;
const TAR = 'application/vnd.oci.image.layer.v1.tar';

/**
 * Brings an image from other engines under the name that it was asked for there. Layers that are here are not sent
 * again, and nothing of the image is visible before all of it is on the disk with its digests checked.
 */
export async function receiveImage(
  context: PullContext,
  { name, image }: { name: string; image: ReceivableImage },
  signal: AbortSignal,
): Promise<void> {
  const described = await image.describe(signal);
  failpoint('images.receive.describe');
  const config = checkedConfig(image.id, described.config, described.layerBytes);
  const chain = chainIds(config.diffIds);
  const existing = existingLayers(context.index, chain);
  try {
    using _pin = context.pins.pin(existing.map(({ id }) => id));
    const missing = config.diffIds.flatMap((diffId, position) => {
      const [chainId, size] = [chain[position], described.layerBytes[position]];
      const isMissing = position >= existing.length && chainId !== undefined && size !== undefined;
      return isMissing ? [{ position, wanted: wantedLayer({ chainId, diffId, size }) }] : [];
    });
    await using shares = new Shares(
      missing.map(({ position, wanted }) =>
        context.fetches.join(wanted, layerSource(image, position, wanted)),
      ),
    );
    await shares.all(signal);
    const received = {
      ...namesOf(name, image.id),
      configBytes: described.config,
      config,
      action: 'pull',
      taggedNano: image.taggedNano,
    } as const;
    await commitFetched(context, received, { existing, shares: shares.list });
  } finally {
    await context.collector.collect();
  }
}

/** Throws invalid_argument for what is not the image that was announced, or none that can be stored. Pure. */
function checkedConfig(id: string, bytes: Buffer, layerBytes: readonly number[]): ImageConfig {
  const found = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  if (found !== id) {
    throw invalidArgument(`image ${id}: its configuration has the digest ${found}`);
  }
  const config = parseImageConfig(bytes, id);
  if (config.diffIds.length > limits.imageLayersMax) {
    throw invalidArgument(`invalid image: more than ${limits.imageLayersMax} layers`);
  }
  const isSized = layerBytes.every((size) => Number.isSafeInteger(size) && size > 0);
  if (!isSized || layerBytes.length !== config.diffIds.length) {
    throw invalidArgument(`image ${id}: the sizes of its ${config.diffIds.length} layers were not told`);
  }
  return config;
}

function wantedLayer({
  chainId,
  diffId,
  size,
}: {
  chainId: string;
  diffId: string;
  size: number;
}): WantedLayer {
  const descriptor = { mediaType: TAR, digest: diffId, size, platform: undefined, annotations: {} };
  return { chainId, diffId, descriptor };
}

/** One engine after the other is asked, until one has sent all of the layer. */
function layerSource(image: ReceivableImage, position: number, { descriptor }: WantedLayer): LayerSource {
  return {
    hold: () => ({ [Symbol.dispose]: () => undefined }),
    download: async (spool, { signal }) => {
      const failures: unknown[] = [];
      for (const holder of image.holders) {
        signal.throwIfAborted();
        try {
          await fill(spool, holder.readLayer(position, signal), descriptor.size);
          failpoint('images.receive.layer');
          return;
        } catch (error) {
          if (signal.aborted || isEngineError(error, 'resource_exhausted')) {
            throw error;
          }
          failures.push(error);
          await spool.reset();
        }
      }
      const why = failures.length === 0 ? 'nobody has it' : failures.map((one) => errorText(one)).join('; ');
      throw new EngineError('unavailable', `layer ${descriptor.digest}: ${why}`, { cause: failures.at(-1) });
    },
  };
}

async function fill(spool: GrowingSpool, pieces: AsyncIterable<Buffer>, size: number): Promise<void> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    waiting.push(piece);
    bytes += piece.length;
    if (spool.size + bytes > size) {
      throw invalidArgument(`a layer has more than the ${size} bytes that were announced`);
    }
    if (bytes >= WRITE_BYTES) {
      await spool.append(waiting);
      waiting = [];
      bytes = 0;
    }
  }
  await spool.append(waiting);
  if (spool.size !== size) {
    throw new EngineError('unavailable', `a layer ended after ${spool.size} of ${size} bytes`);
  }
}

/** As after a pull: an id gives no name, and a digest is the repository's for it. */
function namesOf(name: string, id: string): Pick<NewImage, 'names' | 'digests' | 'event'> {
  if (id.startsWith(name) || id.startsWith(`sha256:${name}`)) {
    return { names: [] };
  }
  const reference = withDefaultTag(parseReference(name));
  const repository = canonicalRepository(reference);
  const event = { actorId: familiarName(reference), name: familiarRepository(repository) };
  return reference.digest === undefined
    ? { names: [reference], event }
    : { names: [], digests: [{ repository, digest: reference.digest }], event };
}
