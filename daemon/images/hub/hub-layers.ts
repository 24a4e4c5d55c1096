import { randomBytes } from 'node:crypto';
import type { HubLayerRow, LayerRow } from '../../../storage/database/rows.ts';
import { notFound } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { ImageContext } from '../context.ts';
import { LayerReplays, type OpenLayer } from './layer-replays.ts';

/** What a push offers for as long as it asks the hub to take it. */
export interface LayerOffer extends Disposable {
  /** Whoever shows it may have the layer. */
  ticket: string;
  digest: string;
  sizeBytes: number;
}

/**
 * Layers of this engine that the registry of this host's hub has without a file of its own. The blob is the layer's
 * tar, whose digest is the layer's identity: it can be written again byte for byte. A row says that the hub needs a
 * layer; the layer stays for as long as the row does.
 */
export class HubLayers {
  readonly #deps: ImageContext;
  readonly #replays: LayerReplays;
  readonly #offers = new Map<string, HubLayerRow>();

  constructor(deps: ImageContext) {
    this.#deps = deps;
    this.#replays = new LayerReplays(deps);
  }

  /** The layer is pinned by whoever offers it. */
  offer({ id, diffId }: LayerRow): LayerOffer {
    const ticket = randomBytes(32).toString('hex');
    const offered = { digest: diffId, layerId: id, sizeBytes: this.#deps.layers.tarBytes(id) };
    this.#offers.set(ticket, offered);
    return {
      ticket,
      digest: diffId,
      sizeBytes: offered.sizeBytes,
      [Symbol.dispose]: () => {
        this.#offers.delete(ticket);
      },
    };
  }

  /** Bytes of what is offered under a ticket; undefined where that is not this digest. */
  offered(ticket: string, digest: string): number | undefined {
    const offered = this.#offers.get(ticket);
    return offered?.digest === digest ? offered.sizeBytes : undefined;
  }

  /** For good when it returns. Throws not_found when the offer is over. */
  keep(ticket: string, digest: string): void {
    const offered = this.#offers.get(ticket);
    if (offered?.digest !== digest) {
      throw notFound(`layer ${digest} is not offered any more`);
    }
    const { database, journal } = this.#deps;
    failpoint('hub.layer.keep');
    journal.commit(() => database.hubLayers.set(offered), { durable: true });
  }

  /** Undefined where the hub keeps no such layer, or its files are lost. */
  size(digest: string): number | undefined {
    return this.#find(digest)?.sizeBytes;
  }

  digests(): string[] {
    return this.#deps.database.hubLayers.digests();
  }

  async open(digest: string): Promise<OpenLayer | undefined> {
    const found = this.#find(digest);
    return (
      found && (await this.#replays.open({ id: found.layerId, diffId: digest, sizeBytes: found.sizeBytes }))
    );
  }

  /** The hub needs it no more. True = it did. */
  async release(digest: string): Promise<boolean> {
    const { database, journal, collector } = this.#deps;
    failpoint('hub.layer.release');
    const wasKept = journal.commit(() => database.hubLayers.remove(digest), { durable: true });
    failpoint('hub.layer.collect');
    await collector.collect();
    return wasKept;
  }

  #find(digest: string): HubLayerRow | undefined {
    const { database, index } = this.#deps;
    const row = database.hubLayers.get(digest);
    return row === undefined || index.lostOf([row.layerId]).length > 0 ? undefined : row;
  }
}
