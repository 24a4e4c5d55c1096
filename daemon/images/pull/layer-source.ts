import type { Descriptor } from '../../../storage/image/descriptor.ts';
import { downloadBlob } from '../../../storage/registry/download.ts';
import type { RemoteRepository } from '../../../storage/registry/repository.ts';
import type { OnRetry } from '../../../storage/registry/retry.ts';
import type { GrowingSpool } from '../../../storage/spool/growing-spool.ts';
import type { HubFile, OwnHub } from '../hub/own-hub.ts';

/** Where a layer comes from. */
export interface LayerSource {
  /** It is used until this is disposed of. */
  hold(): Disposable;
  /** The layer as a file of this host, which is read where it is; undefined = it has to be downloaded. */
  openFile?(): Promise<HubFile | undefined>;
  /** Brings all of the layer into a file; its digest is checked by the reader of the file. */
  download(spool: GrowingSpool, options: { signal: AbortSignal; onRetry: OnRetry }): Promise<void>;
}

/** `hub`: this host's, where the repository is one of it. */
export function registrySource(
  repository: RemoteRepository,
  blob: Descriptor,
  hub: OwnHub | undefined,
): LayerSource {
  return {
    hold: () => repository.session.hold(),
    openFile: async () => await hub?.openFile(blob.digest),
    download: (spool, options) => downloadBlob(repository, blob, spool, options),
  };
}
