import { randomBytes } from 'node:crypto';
import { constants, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { syncFileSystem } from '../../daemon/base/kernel/files/files.ts';
import { OpenFile } from '../../daemon/base/kernel/files/safepath.ts';
import type { RecordedImage, StoreRecords } from '../database/store-records.ts';
import { DIFF } from '../layers/apply.ts';
import { setAside } from '../orphans.ts';

export interface StorePaths {
  dataRoot: string;
  layers: string;
  containers: string;
  volumes: string;
  temporary: string;
}

/** The data root that is looked at, as all steps of a check see it. */
export class Store {
  readonly paths: StorePaths;
  readonly records: StoreRecords;
  /** A daemon works on it meanwhile: what has no row may just be being made. */
  readonly isInUse: boolean;
  /** Containers whose file systems are mounted: the layers below them must not be touched. */
  readonly mounted: ReadonlySet<string>;

  constructor(parts: {
    paths: StorePaths;
    records: StoreRecords;
    isInUse: boolean;
    mounted: ReadonlySet<string>;
  }) {
    this.paths = parts.paths;
    this.records = parts.records;
    this.isInUse = parts.isInUse;
    this.mounted = parts.mounted;
  }

  layerDirectory(id: number): string {
    return join(this.paths.layers, id.toString(36));
  }

  layerDiff(id: number): string {
    return join(this.layerDirectory(id), DIFF);
  }

  /** What was made so far is on the disk once this resolves. */
  async sync(): Promise<void> {
    using root = new OpenFile(openSync(this.paths.layers, constants.O_RDONLY | constants.O_DIRECTORY));
    await syncFileSystem(root.fd);
  }

  /** A name for something to be made there for a while. */
  temporary(): string {
    mkdirSync(this.paths.temporary, { recursive: true, mode: 0o700 });
    return join(this.paths.temporary, `check-${randomBytes(8).toString('hex')}`);
  }

  /** Takes something out of the way without losing it; answers where it is now. */
  setAside(path: string, kind: 'layers' | 'containers', name: string): string {
    failpoint('check.repair.aside');
    return setAside(this.paths.dataRoot, path, { kind, name });
  }
}

/** The name of an image for messages. */
export function imageName({ id, tags }: Pick<RecordedImage, 'id' | 'tags'>): string {
  return tags[0] ?? id;
}
