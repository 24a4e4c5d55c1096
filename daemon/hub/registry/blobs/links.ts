import { Collection } from '../../records/collection.ts';
import type { Mirror } from '../../records/mirror.ts';
import type { RecordChange } from '../../records/port.ts';

/**
 * That a repository has a blob: whoever may pull from the repository may have it. Records
 * `blob/<repository's id>/<digest>`.
 */
export interface BlobLink {
  digest: string;
  size: number;
  /**
   * When somebody last uploaded, mounted or asked for it as part of a push that has not named it in a manifest yet; 0 =
   * no push waits for it.
   */
  pendingMs: number;
}

/** Which repository has which blob. */
export class BlobLinks {
  readonly #mirror: Mirror;
  readonly #links: Collection<BlobLink>;

  constructor(mirror: Mirror) {
    this.#mirror = mirror;
    this.#links = new Collection(mirror, 'blob/');
  }

  get(repository: number, digest: string): BlobLink | undefined {
    return this.#links.get(`${repository}/${digest}`);
  }

  of(repository: number): BlobLink[] {
    // Written by this class alone.
    return Array.from(this.#mirror.below(`blob/${repository}/`), ({ value }) => value as BlobLink);
  }

  /** As `Collection.put`. */
  put(repository: number, link: BlobLink): RecordChange {
    return this.#links.put(`${repository}/${link.digest}`, link);
  }

  delete(repository: number, digest: string): RecordChange {
    return this.#links.delete(`${repository}/${digest}`);
  }

  unchanged(repository: number, digest: string): RecordChange {
    return this.#links.unchanged(`${repository}/${digest}`);
  }
}
