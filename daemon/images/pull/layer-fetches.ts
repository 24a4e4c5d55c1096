import type { ImagesDeps } from '../deps.ts';
import { Semaphore } from '../../base/concurrency/semaphore.ts';
import { LayerFetch, type WantedLayer } from './layer-fetch.ts';
import type { LayerSource } from './layer-source.ts';

/** A pull's share in a fetch. Disposing releases it; with the last share the fetch ends. */
export interface LayerShare extends AsyncDisposable {
  readonly fetch: LayerFetch;
}

/** The layers being fetched, by chain ID: a pull that wants one of them shares the fetch. */
export class LayerFetches {
  readonly #deps: ImagesDeps;
  readonly #slots: Semaphore;
  readonly #running = new Map<string, { fetch: LayerFetch; shares: number }>();

  constructor(deps: ImagesDeps) {
    this.#deps = deps;
    this.#slots = new Semaphore(() => deps.registry().downloadsMax);
  }

  join(wanted: WantedLayer, source: LayerSource): LayerShare {
    const { chainId } = wanted;
    const entry = this.#running.get(chainId) ?? this.#start(wanted, source);
    entry.shares += 1;
    let held = true;
    return {
      fetch: entry.fetch,
      [Symbol.asyncDispose]: async () => {
        if (!held) {
          return;
        }
        held = false;
        entry.shares -= 1;
        if (entry.shares === 0) {
          // At once: a pull that comes while this one ends gets a fetch of its own.
          this.#forget(chainId, entry.fetch);
          await entry.fetch.end();
        }
      },
    };
  }

  #start(wanted: WantedLayer, source: LayerSource): { fetch: LayerFetch; shares: number } {
    const fetch = new LayerFetch(this.#deps, this.#slots, wanted, source);
    const entry = { fetch, shares: 0 };
    this.#running.set(wanted.chainId, entry);
    // A failure is for the pulls that share it; the next one tries anew.
    fetch.result.catch(() => this.#forget(wanted.chainId, fetch));
    return entry;
  }

  #forget(chainId: string, fetch: LayerFetch): void {
    if (this.#running.get(chainId)?.fetch === fetch) {
      this.#running.delete(chainId);
    }
  }
}
