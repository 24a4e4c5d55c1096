import type { Descriptor } from '../../../storage/image/descriptor.ts';
import { downloadBlob } from '../../../storage/registry/download.ts';
import type { RemoteRepository } from '../../../storage/registry/repository.ts';
import type { OnRetry } from '../../../storage/registry/retry.ts';
import type { GrowingSpool } from '../../../storage/spool/growing-spool.ts';

/** Where a layer comes from. */
export interface LayerSource {
  /** It is used until this is disposed of. */
  hold(): Disposable;
  /** Brings all of the layer into a file; its digest is checked by the reader of the file. */
  download(spool: GrowingSpool, options: { signal: AbortSignal; onRetry: OnRetry }): Promise<void>;
}

export function registrySource(repository: RemoteRepository, blob: Descriptor): LayerSource {
  return {
    hold: () => repository.session.hold(),
    download: (spool, options) => downloadBlob(repository, blob, spool, options),
  };
}
