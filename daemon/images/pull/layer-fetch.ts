import type { LayerRow } from '../../../storage/database/rows.ts';
import type { UnpackedLayer } from '../../../storage/layers/store.ts';
import type { Descriptor } from '../../../storage/image/descriptor.ts';
import type { GrowingSpool } from '../../../storage/spool/growing-spool.ts';
import { internal, unreachable } from '../../base/errors.ts';
import type { ImagesDeps } from '../deps.ts';
import type { LayerPins } from '../layer-pins.ts';
import type { Semaphore } from '../../base/concurrency/semaphore.ts';
import type { LayerSource } from './layer-source.ts';

/** A layer that is to be fetched. */
export interface WantedLayer {
  chainId: string;
  diffId: string;
  descriptor: Descriptor;
}

/** How far a layer is, for the pulls that report it. Each follows the one before. */
export type FetchProgress =
  | { phase: 'waiting' }
  | { phase: 'downloading'; current: number; retryInMs: number | undefined }
  | { phase: 'verifying' }
  | { phase: 'extracting'; current: number }
  | { phase: 'done' };

/** Where the layer is once it is fetched: unpacked for the first commit, then in its place. */
type Outcome =
  | { kind: 'unpacked'; layer: UnpackedLayer }
  | { kind: 'placed'; row: LayerRow; pin: Disposable }
  | { kind: 'lost' };

/** The fetch of one layer, for all pulls that want it: downloaded and unpacked once. */
export class LayerFetch {
  readonly wanted: WantedLayer;
  readonly #deps: ImagesDeps;
  readonly #slots: Semaphore;
  readonly #stop = new AbortController();
  #progress: () => FetchProgress = () => ({ phase: 'waiting' });
  #outcome: Outcome = { kind: 'lost' };
  /** Rejects with the reason why there is no layer. */
  readonly result: Promise<void>;

  constructor(deps: ImagesDeps, slots: Semaphore, wanted: WantedLayer, source: LayerSource) {
    this.#deps = deps;
    this.#slots = slots;
    this.wanted = wanted;
    this.result = this.#fetch(source);
    // The pulls that want the layer await it; a failure before that is not unhandled.
    this.result.catch(() => {});
  }

  get progress(): FetchProgress {
    return this.#progress();
  }

  /** What to make an image of. Only after `result`, and only under the commit lock. */
  take(): LayerRow | UnpackedLayer {
    const outcome = this.#outcome;
    switch (outcome.kind) {
      case 'unpacked':
        return outcome.layer;
      case 'placed':
        return outcome.row;
      case 'lost':
        throw internal(`layer ${this.wanted.diffId} went with another pull that failed`);
      default:
        return unreachable(outcome);
    }
  }

  /** It has been committed as this row; pinned for the pulls that still wait for their own commit. */
  placed(row: LayerRow, pins: LayerPins): void {
    if (this.#outcome.kind === 'unpacked') {
      this.#outcome = { kind: 'placed', row, pin: pins.pin([row.id]) };
    }
  }

  /** A commit failed and has taken the files along. */
  lost(): void {
    if (this.#outcome.kind === 'unpacked') {
      this.#outcome = { kind: 'lost' };
    }
  }

  /** No pull wants it any more: stops, removes what was not committed. Resolves when nothing of it runs. */
  async end(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled([this.result]);
    const outcome = this.#outcome;
    this.#outcome = { kind: 'lost' };
    if (outcome.kind === 'unpacked') {
      await this.#deps.layers.discard(outcome.layer);
    } else if (outcome.kind === 'placed') {
      outcome.pin[Symbol.dispose]();
    }
  }

  async #fetch(source: LayerSource): Promise<void> {
    const { descriptor, diffId } = this.wanted;
    const { digest, size } = descriptor;
    const { signal } = this.#stop;
    using _held = source.hold();
    await using file = (await source.openFile?.()) ?? (await this.#downloaded(source));
    this.#progress = () => ({ phase: 'verifying' });
    const layer = await this.#deps.layers.unpack(
      {
        blob: { fd: file.fd, offset: 0, size },
        what: `layer ${digest}`,
        expectedDigest: digest,
        expectedDiffId: diffId,
      },
      {
        signal,
        onStart: (bytesRead) => {
          this.#progress = () => ({ phase: 'extracting', current: bytesRead() });
        },
      },
    );
    this.#outcome = { kind: 'unpacked', layer };
    this.#progress = () => ({ phase: 'done' });
  }

  #downloaded(source: LayerSource): Promise<GrowingSpool> {
    return this.#slots.run(async () => {
      const spool = await this.#deps.spools.open(`layer ${this.wanted.descriptor.digest}`);
      try {
        await this.#download(source, spool);
        return spool;
      } catch (error) {
        await spool[Symbol.asyncDispose]();
        throw error;
      }
    }, this.#stop.signal);
  }

  async #download(source: LayerSource, spool: GrowingSpool): Promise<void> {
    let retryAt = 0;
    this.#progress = () => {
      const retryInMs = retryAt - performance.now();
      return {
        phase: 'downloading',
        current: spool.size,
        retryInMs: retryInMs > 0 ? retryInMs : undefined,
      };
    };
    await source.download(spool, {
      signal: this.#stop.signal,
      onRetry: (delayMs) => {
        retryAt = performance.now() + delayMs;
      },
    });
  }
}
