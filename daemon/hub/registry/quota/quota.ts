import type { Repositories } from '../../repositories/repositories.ts';
import type { Repository } from '../../repositories/repository.ts';
import type { BlobLinks } from '../blobs/links.ts';
import type { ManifestRecords } from '../manifests/records.ts';
import { refusal } from '../refusal.ts';

interface Deps {
  /** Bytes that the repositories of one owner may take together; 0 = as many as there are. */
  quotaBytes: number;
  repositories: Repositories;
  links: BlobLinks;
  manifests: ManifestRecords;
}

/** Bounds what one owner keeps in the registry. A blob counts once, in however many of its repositories it is. */
export class Quota {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Throws DENIED when the owner of a repository would have too much with a blob. */
  refuse({ owner }: Repository, { digest, size }: { digest: string; size: number }): void {
    const { quotaBytes } = this.#deps;
    if (quotaBytes === 0) {
      return;
    }
    const sizes = this.#sizesOf(owner.id);
    const used = sum(sizes);
    if (!sizes.has(digest) && used + size > quotaBytes) {
      throw exceeded(owner.name, used, quotaBytes);
    }
  }

  /**
   * A look at an upload as it grows: throws DENIED when there is no room for what it has by then. `beside`: bytes of
   * the owner's other uploads, which have grown meanwhile.
   */
  watch({ owner }: Repository, beside: () => number): (size: number) => void {
    const { quotaBytes } = this.#deps;
    if (quotaBytes === 0) {
      return () => undefined;
    }
    const used = sum(this.#sizesOf(owner.id));
    return (size) => {
      const uploads = beside();
      if (used + uploads + size > quotaBytes) {
        throw exceeded(owner.name, used + uploads, quotaBytes, uploads);
      }
    };
  }

  /** Whether there is room for so many bytes beside what is kept. */
  hasRoom({ owner }: Repository, size: number): boolean {
    const { quotaBytes } = this.#deps;
    return quotaBytes === 0 || sum(this.#sizesOf(owner.id)) + size <= quotaBytes;
  }

  #sizesOf(owner: number): Map<string, number> {
    const { repositories, links, manifests } = this.#deps;
    const sizes = new Map<string, number>();
    for (const { id } of repositories.ofOwner({ id: owner })) {
      for (const { digest, size } of [...links.of(id), ...manifests.of(id)]) {
        sizes.set(digest, size);
      }
    }
    return sizes;
  }
}

function sum(sizes: ReadonlyMap<string, number>): number {
  return [...sizes.values()].reduce((all, size) => all + size, 0);
}

/** `uploads`: how much of what is used is in uploads that are under way. */
function exceeded(owner: string, used: number, quota: number, uploads = 0): Error {
  const way = uploads === 0 ? '' : `, ${uploads} of them in uploads that are under way`;
  return refusal(
    'DENIED',
    `quota exceeded: ${owner} has ${used} of ${quota} bytes${way}: delete images first`,
    {
      detail: { quota, used, ...(uploads > 0 && { uploads }) },
    },
  );
}
