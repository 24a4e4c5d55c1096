import { Collection } from '../../records/collection.ts';
import type { Mirror } from '../../records/mirror.ts';
import type { RecordChange } from '../../records/port.ts';
import type { Tag } from '../manifests/manifest.ts';

/** The tags of repositories. */
export class TagRecords {
  readonly #mirror: Mirror;
  readonly #tags: Collection<Tag>;

  constructor(mirror: Mirror) {
    this.#mirror = mirror;
    this.#tags = new Collection(mirror, 'tag/');
  }

  get(repository: number, tag: string): Tag | undefined {
    return this.#tags.get(`${repository}/${tag}`);
  }

  /** In no order. */
  of(repository: number): Tag[] {
    // Written by this class alone.
    return Array.from(this.#mirror.below(`tag/${repository}/`), ({ value }) => value as Tag);
  }

  /** As `Collection.put`. */
  put(repository: number, tag: Tag): RecordChange {
    return this.#tags.put(`${repository}/${tag.tag}`, tag);
  }

  delete(repository: number, tag: string): RecordChange {
    return this.#tags.delete(`${repository}/${tag}`);
  }
}
