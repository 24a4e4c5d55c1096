import { limits } from '../../../base/limits.ts';
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
  /**
   * Pushes that have been told of it, or have brought it, and not named it yet: one that names it must not take it from
   * the others. When the last of them was told. Absent in records of older daemons.
   */
  pushes?: number;
  toldMs?: number;
}

/** The link once another push knows that the blob is there. Pure. */
export function told(
  known: BlobLink | undefined,
  blob: Pick<BlobLink, 'digest' | 'size'>,
  nowMs: number,
): BlobLink {
  return { ...blob, pendingMs: nowMs, pushes: pushesOf(known) + 1, toldMs: nowMs };
}

/**
 * The link once a manifest names it. `isNew`: one of the pushes has come to its end; a manifest that was there may be
 * put under another tag by a client that was told of nothing, which takes no push's turn. Pure.
 */
export function named({ digest, size, ...known }: BlobLink, isNew: boolean): BlobLink {
  const pushes = Math.max(0, pushesOf(known) - (isNew ? 1 : 0));
  return { digest, size, pendingMs: 0, pushes, toldMs: pushes > 0 ? (known.toldMs ?? 0) : 0 };
}

/** Whether a push may still come to name it. Pure. */
export function isAwaited({ pendingMs, toldMs = 0 }: BlobLink, nowMs: number): boolean {
  return pendingMs > nowMs - limits.hubBlobGraceMs || toldMs > nowMs - limits.hubBlobToldMs;
}

function pushesOf(known: Pick<BlobLink, 'pendingMs' | 'pushes'> | undefined): number {
  return known?.pushes ?? ((known?.pendingMs ?? 0) > 0 ? 1 : 0);
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
