import type { LayerBlobRow, LayerRow } from '../../../storage/database/rows.ts';
import {
  fileSource,
  hasBlob,
  mountBlob,
  shareLayer,
  uploadBlob,
} from '../../../storage/registry/push-repository.ts';
import type { RemoteRepository } from '../../../storage/registry/repository.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import type { ImagesDeps } from '../deps.ts';
import type { HubLayers } from '../hub/hub-layers.ts';
import type { Semaphore } from '../../base/concurrency/semaphore.ts';

/** How far the upload of a layer is, for the pushes that report it. */
export type PushProgress =
  | { phase: 'preparing' }
  | { phase: 'compressing'; current: number; total: number }
  | { phase: 'waiting' }
  | { phase: 'pushing'; current: number; total: number }
  | { phase: 'exists' }
  | { phase: 'mounted'; from: string }
  | { phase: 'pushed' };

/** Where a layer is in the registry. */
export interface PushedBlob extends Omit<LayerBlobRow, 'layerId' | 'repository'> {
  /** It is no gzip: only the hub of this host has it so. */
  isTar?: true;
}

interface Deps extends ImagesDeps {
  hubLayers: Pick<HubLayers, 'offer'>;
}

/**
 * The push of one layer to a repository: found there, mounted from another one, shared with the hub of this host, or
 * compressed and uploaded.
 */
export class LayerPush {
  readonly layer: LayerRow;
  readonly #deps: Deps;
  readonly #target: { repository: RemoteRepository; domain: string };
  #progress: () => PushProgress = () => ({ phase: 'preparing' });

  constructor(deps: Deps, layer: LayerRow, target: { repository: RemoteRepository; domain: string }) {
    this.#deps = deps;
    this.layer = layer;
    this.#target = target;
  }

  get progress(): PushProgress {
    return this.#progress();
  }

  /** Resolves when the repository has the layer. */
  async run(slots: Semaphore, signal: AbortSignal): Promise<PushedBlob> {
    this.#progress = () => ({ phase: 'waiting' });
    return await slots.run(async () => {
      this.#progress = () => ({ phase: 'preparing' });
      return (
        (await this.#find(signal)) ??
        (await this.#mount(signal)) ??
        (await this.#share(signal)) ??
        (await this.#packAndUpload(signal))
      );
    }, signal);
  }

  /** By any digest the layer is known to have somewhere. */
  async #find(signal: AbortSignal): Promise<PushedBlob | undefined> {
    const { repository, domain } = this.#target;
    const own = `${domain}/${repository.path}`;
    const known = this.#deps.database.blobs.of(this.layer.id);
    const first = known.filter((blob) => blob.repository === own);
    const asked = new Map([...first, ...known].map((blob) => [blob.digest, blob.sizeBytes]));
    for (const [digest, sizeBytes] of [...asked].slice(0, limits.pushMountsMax)) {
      if (await hasBlob(repository, digest, signal)) {
        this.#progress = () => ({ phase: 'exists' });
        return { digest, sizeBytes };
      }
    }
    return undefined;
  }

  async #mount(signal: AbortSignal): Promise<PushedBlob | undefined> {
    const { repository, domain } = this.#target;
    const elsewhere = this.#deps.database.blobs
      .of(this.layer.id)
      .filter(
        (blob) =>
          blob.repository.startsWith(`${domain}/`) && blob.repository !== `${domain}/${repository.path}`,
      );
    for (const { digest, sizeBytes, repository: name } of elsewhere.slice(0, limits.pushMountsMax)) {
      const from = name.slice(domain.length + 1);
      if (await mountBlob(repository, { digest, from }, signal)) {
        this.#progress = () => ({ phase: 'mounted', from });
        return { digest, sizeBytes };
      }
    }
    return undefined;
  }

  /** The hub of this host takes the layer as it is: nothing is compressed, sent or stored again. */
  async #share(signal: AbortSignal): Promise<PushedBlob | undefined> {
    const { repository, domain } = this.#target;
    if (this.#deps.ownHub()?.isOwn(domain) !== true) {
      return undefined;
    }
    using offer = this.#deps.hubLayers.offer(this.layer);
    const { digest, sizeBytes } = offer;
    if (await hasBlob(repository, digest, signal)) {
      this.#progress = () => ({ phase: 'exists' });
      return { digest, sizeBytes, isTar: true };
    }
    if (!(await shareLayer(repository, offer, signal))) {
      return undefined;
    }
    this.#progress = () => ({ phase: 'pushed' });
    return { digest, sizeBytes, isTar: true };
  }

  async #packAndUpload(signal: AbortSignal): Promise<PushedBlob> {
    const { layers, spools } = this.#deps;
    const { repository } = this.#target;
    await using spool = await spools.open(`layer ${this.layer.diffId}`);
    const { digest, sizeBytes } = await layers.pack(this.layer.id, this.layer.diffId, spool.fd, {
      signal,
      onStart: (bytesDone) => {
        const total = layers.tarBytes(this.layer.id);
        this.#progress = () => ({ phase: 'compressing', current: bytesDone(), total });
      },
    });
    failpoint('images.push.pack');
    // The same tar makes the same blob: another engine of ours may have pushed it.
    if (await hasBlob(repository, digest, signal)) {
      this.#progress = () => ({ phase: 'exists' });
      return { digest, sizeBytes };
    }
    this.#progress = () => ({ phase: 'pushing', current: 0, total: sizeBytes });
    const source = fileSource({ fd: spool.fd, digest, size: sizeBytes }, (current) => {
      this.#progress = () => ({ phase: 'pushing', current, total: sizeBytes });
    });
    await uploadBlob(repository, source, { signal });
    this.#progress = () => ({ phase: 'pushed' });
    return { digest, sizeBytes };
  }
}
