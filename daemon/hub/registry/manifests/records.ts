import { Collection } from '../../records/collection.ts';
import type { Mirror } from '../../records/mirror.ts';
import type { RecordChange } from '../../records/port.ts';
import { blobsOf, type Manifest } from './manifest.ts';

/** Which repository has which manifest. */
export class ManifestRecords {
  readonly #mirror: Mirror;
  readonly #manifests: Collection<Manifest>;

  constructor(mirror: Mirror) {
    this.#mirror = mirror;
    this.#manifests = new Collection(mirror, 'manifest/');
  }

  get(repository: number, digest: string): Manifest | undefined {
    return this.#manifests.get(`${repository}/${digest}`);
  }

  of(repository: number): Manifest[] {
    // Written by this class alone.
    return Array.from(this.#mirror.below(`manifest/${repository}/`), ({ value }) => value as Manifest);
  }

  /** What its manifests name: these blobs stay. */
  blobsOf(repository: number): Set<string> {
    return new Set(this.of(repository).flatMap((manifest) => blobsOf(manifest).map(({ digest }) => digest)));
  }

  /** As `Collection.put`. */
  put(repository: number, manifest: Manifest): RecordChange {
    return this.#manifests.put(`${repository}/${manifest.digest}`, manifest);
  }

  delete(repository: number, digest: string): RecordChange {
    return this.#manifests.delete(`${repository}/${digest}`);
  }

  unchanged(repository: number, digest: string): RecordChange {
    return this.#manifests.unchanged(`${repository}/${digest}`);
  }
}
