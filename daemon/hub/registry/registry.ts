import type { Clock } from '../../base/clock.ts';
import { KeyedMutex } from '../../base/concurrency/mutex.ts';
import type { Logger } from '../../base/logger.ts';
import type { Outbox } from '../occurrences/occurrence.ts';
import type { Mirror } from '../records/mirror.ts';
import type { Repositories } from '../repositories/repositories.ts';
import type { Repository } from '../repositories/repository.ts';
import type { KnownArtifacts } from './artifacts/port.ts';
import { Blobs } from './blobs/blobs.ts';
import { BlobLinks } from './blobs/links.ts';
import type { EngineLayers } from './files/engine-layers.ts';
import { HeldBlobs } from './files/held-blobs.ts';
import type { BlobFiles } from './files/port.ts';
import { Collector } from './gc/collector.ts';
import { IndexRemovals } from './manifests/index-removals.ts';
import { Manifests } from './manifests/manifests.ts';
import { ManifestRecords } from './manifests/records.ts';
import { Arrivals } from './peers/arrivals.ts';
import { Copies } from './peers/copies.ts';
import { Fetches } from './peers/fetches.ts';
import type { BlobPeers } from './peers/port.ts';
import { Repairs, type NamedBlob } from './peers/repairs.ts';
import { Quota } from './quota/quota.ts';
import { TagRecords } from './tags/records.ts';
import { Uploads } from './uploads/uploads.ts';

interface Given {
  mirror: Mirror;
  clock: Clock;
  log: Logger;
  repositories: Repositories;
  outbox: Outbox;
  files: BlobFiles;
  /** Undefined = the engine shares none. */
  layers?: EngineLayers | undefined;
  artifacts: KnownArtifacts;
  /** Undefined = no other host has these records. */
  peers?: BlobPeers | undefined;
  /** Bytes that one owner may keep; 0 = no bound. */
  quotaBytes: number;
  /** How many managers hold what is pushed; 0 = two where there are three or more. */
  replicas?: number;
  /** This host to the others; undefined = it has the records alone. */
  host?: string;
  /** Told of each copy that was made of what too few managers held, with its bytes. */
  repaired?: (bytes: number) => void;
}

/** Blobs, uploads and manifests of repositories. Who may have them is judged above (session/). */
export class Registry implements Disposable {
  readonly blobs: Blobs;
  readonly uploads: Uploads;
  readonly manifests: Manifests;
  readonly collector: Collector;
  readonly #tags: TagRecords;
  readonly #fetches: Fetches;
  readonly #copies: Copies;
  readonly #repairs: Repairs | undefined;
  /** What other hosts bring. */
  readonly arrivals: Arrivals;

  constructor({ quotaBytes, ...given }: Given) {
    const { mirror, repositories } = given;
    const links = new BlobLinks(mirror);
    const manifests = new ManifestRecords(mirror);
    const quota = new Quota({ quotaBytes, repositories, links, manifests });
    const tags = new TagRecords(mirror);
    this.#tags = tags;
    const { layers, peers } = given;
    const files = new HeldBlobs(given.files, layers);
    const locks = new KeyedMutex();
    this.#fetches = new Fetches({ ...given, peers, files, locks });
    const fetches = this.#fetches;
    this.#copies = new Copies({
      ...given,
      peers,
      holds: (blob) => fetches.hold(blob),
      open: (digest) => files.open(digest),
    });
    const { host, repaired = () => undefined } = given;
    this.#repairs =
      peers &&
      (host === undefined
        ? undefined
        : new Repairs({
            ...given,
            host,
            peers,
            repaired,
            named: () => namedBlobs(repositories, manifests),
            size: (digest) => files.size(digest),
            open: (digest) => files.open(digest),
          }));
    const isUsed = (digest: string): boolean =>
      repositories.all().some(({ id }) => (links.get(id, digest) ?? manifests.get(id, digest)) !== undefined);
    this.arrivals = new Arrivals({ ...given, files, locks, isUsed });
    const [copies, arrivals] = [this.#copies, this.arrivals];
    const held = { layers, files, links, manifests, tags, quota, locks, isUsed };
    const deps = { ...given, ...held, fetches, copies, arrivals };
    this.blobs = new Blobs(deps);
    this.uploads = new Uploads(deps, this.blobs);
    const removals = new IndexRemovals(deps);
    this.manifests = new Manifests(deps, removals);
    this.collector = new Collector(deps, this.uploads, removals);
  }

  /** Takes over what an earlier daemon has left, and mends it behind the first requests. */
  async start(): Promise<void> {
    await this.uploads.load();
    this.collector.start();
    this.#repairs?.start();
  }

  /** Where a tag leads. */
  digestOf(repository: Pick<Repository, 'id'>, tag: string): string | undefined {
    return this.#tags.get(repository.id, tag)?.digest;
  }

  [Symbol.dispose](): void {
    this.collector[Symbol.dispose]();
    this.#fetches[Symbol.dispose]();
    this.#copies[Symbol.dispose]();
    this.#repairs?.[Symbol.dispose]();
  }
}

/** What a push may be told of and is not named yet is on its way by itself. */
function namedBlobs(repositories: Repositories, manifests: ManifestRecords): NamedBlob[] {
  const named = new Map<string, number>();
  for (const { id } of repositories.all()) {
    manifests.of(id).forEach(({ digest }) => named.set(digest, id));
    manifests.blobsOf(id).forEach((digest) => named.set(digest, id));
  }
  return Array.from(named, ([digest, repository]) => ({ digest, repository }));
}
