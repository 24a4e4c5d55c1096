import type { Readable } from 'node:stream';
import type { RootMaker } from '../../../storage/contexts/roots.ts';
import type { TarRequest } from '../../../storage/files/jobs.ts';
import type { Spool, SpoolOptions } from '../../../storage/spool/spool.ts';
import type { CacheLayers } from '../cache/exchange/ports.ts';
import type { BuildLayers } from '../ports.ts';

/** What results of builds are given out with. */
export interface ExportDeps extends RootMaker {
  layers: BuildLayers;
  caches: Pick<CacheLayers, 'registryTarget' | 'pack'>;
  archives: {
    /** `done`: the descriptors of the request may be closed. */
    tar(request: TarRequest, done: () => void): Readable;
    /** Deletes a directory of ours with all below it. */
    remove(path: string): Promise<void>;
  };
  spools: RootMaker['spools'] & { raw(source: Readable, options: SpoolOptions): Promise<Spool> };
}
