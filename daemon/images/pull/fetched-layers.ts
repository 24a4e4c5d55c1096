import type { LayerRow } from '../../../storage/database/rows.ts';
import type { KeyedMutex } from '../../base/concurrency/mutex.ts';
import { commitImage, type NewImage } from '../load/commit-image.ts';
import type { ImageContext } from '../context.ts';
import type { ImageIndex } from '../image-index.ts';
import type { LayerFetches, LayerShare } from './layer-fetches.ts';

export interface PullContext extends ImageContext {
  fetches: LayerFetches;
  /** One commit at a time: pulls that share a layer must not move it at once. */
  commits: KeyedMutex;
}

/** Shares of one pull; all are released when it ends, also by a failure. */
export class Shares implements AsyncDisposable {
  readonly list: readonly LayerShare[];

  constructor(list: readonly LayerShare[]) {
    this.list = list;
  }

  /** Resolves when all are fetched; rejects with the first failure, or as soon as the signal fires. */
  async all(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const abort = (): void => reject(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
      if (signal.aborted) {
        abort();
      }
      Promise.all(this.list.map(({ fetch }) => fetch.result))
        .then(() => resolve(), reject)
        .finally(() => signal.removeEventListener('abort', abort));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.list.map((share) => share[Symbol.asyncDispose]()));
  }
}

/** The longest run of layers, from the bottom, that are stored already. */
export function existingLayers(
  index: Pick<ImageIndex, 'layerByChainId'>,
  chain: readonly string[],
): LayerRow[] {
  const rows = chain.map((chainId) => index.layerByChainId(chainId));
  const end = rows.indexOf(undefined);
  return rows.slice(0, end === -1 ? rows.length : end).filter((row) => row !== undefined);
}

/** Makes an image of layers that are there (pinned) and those above them that have been fetched. */
export async function commitFetched(
  context: PullContext,
  image: Omit<NewImage, 'layers'>,
  { existing, shares }: { existing: readonly LayerRow[]; shares: readonly LayerShare[] },
): Promise<void> {
  const { index, pins, commits } = context;
  await commits.run('commit', async () => {
    // Another pull, or a load, may have brought a layer meanwhile.
    const taken = shares.map(({ fetch }) => index.layerByChainId(fetch.wanted.chainId) ?? fetch.take());
    using _pin = pins.pin(taken.flatMap((layer) => ('id' in layer ? [layer.id] : [])));
    try {
      await commitImage(context, { ...image, layers: [...existing, ...taken] });
    } catch (error) {
      for (const { fetch } of shares) {
        fetch.lost();
      }
      throw error;
    }
    for (const { fetch } of shares) {
      const row = index.layerByChainId(fetch.wanted.chainId);
      if (row !== undefined) {
        fetch.placed(row, pins);
      }
    }
  });
}
