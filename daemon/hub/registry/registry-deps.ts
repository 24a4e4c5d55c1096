import type { Clock } from '../../base/clock.ts';
import type { KeyedMutex } from '../../base/concurrency/mutex.ts';
import type { Logger } from '../../base/logger.ts';
import type { Outbox } from '../occurrences/occurrence.ts';
import type { Mirror } from '../records/mirror.ts';
import type { Repositories } from '../repositories/repositories.ts';
import type { KnownArtifacts } from './artifacts/port.ts';
import type { BlobLinks } from './blobs/links.ts';
import type { EngineLayers } from './files/engine-layers.ts';
import type { BlobFiles } from './files/port.ts';
import type { ManifestRecords } from './manifests/records.ts';
import type { Arrivals } from './peers/arrivals.ts';
import type { Copies } from './peers/copies.ts';
import type { Fetches } from './peers/fetches.ts';
import type { Quota } from './quota/quota.ts';
import type { TagRecords } from './tags/records.ts';

/** What the parts of the registry stand on. */
export interface RegistryDeps {
  mirror: Mirror;
  clock: Clock;
  log: Logger;
  repositories: Repositories;
  outbox: Outbox;
  /** All that this host holds. */
  files: BlobFiles;
  /** Undefined = the engine shares none. */
  layers: EngineLayers | undefined;
  /** What this host does not hold and another one does. */
  fetches: Fetches;
  /** What other hosts bring to this one, and this one to them. */
  arrivals: Arrivals;
  copies: Copies;
  links: BlobLinks;
  manifests: ManifestRecords;
  tags: TagRecords;
  artifacts: KnownArtifacts;
  quota: Quota;
  /** Whether a record says that a repository has it. */
  isUsed: (digest: string) => boolean;
  /**
   * By digest: from before a blob gets its name until a record says who has it, and while the collector looks whether
   * nobody has it and takes the name away.
   */
  locks: KeyedMutex;
}

export function nowMsOf(clock: Clock): number {
  return Number(clock.nowNano() / 1_000_000n);
}
