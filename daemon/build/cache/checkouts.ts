import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { BuildTree } from '../snapshots/tree.ts';

/** Begins the keys of checkouts. */
export const GIT_KEY = 'git ';

interface Kept {
  tree: BuildTree;
  bytes: number;
  lastUsedMs: number;
}

/**
 * Checkouts of repositories, each in one file without a name, kept for a while for the next build of the same commit.
 * They go with the daemon.
 */
export class Checkouts {
  readonly #clock: Clock;
  /** By key; the one that was used last is the last. */
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Held for the caller. */
  find(key: string): BuildTree | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) {
      return undefined;
    }
    this.#use(key, kept);
    return kept.tree.hold();
  }

  /** In place of an older one. The caller goes on holding `tree`. */
  keep(key: string, tree: BuildTree): void {
    const bytes = bytesOf(tree);
    this.#drop(key);
    if (bytes <= limits.checkoutsKeptBytesMax) {
      this.#use(key, { tree: tree.hold(), bytes, lastUsedMs: 0 });
      this.#bound();
    }
  }

  /** Forgets all of them; answers how many bytes that were. */
  prune(): number {
    const bytes = this.#bytes();
    [...this.#kept.keys()].forEach((key) => this.#drop(key));
    return bytes;
  }

  #use(key: string, kept: Kept): void {
    const lastUsedMs = this.#clock.monotonicMs();
    kept.lastUsedMs = lastUsedMs;
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    this.#clock.setTimeout(() => {
      if (this.#kept.get(key) === kept && kept.lastUsedMs === lastUsedMs) {
        this.#drop(key);
      }
    }, limits.contextKeptMs);
  }

  /** The oldest go first. */
  #bound(): void {
    for (const key of this.#kept.keys()) {
      if (this.#kept.size <= limits.checkoutsKeptMax && this.#bytes() <= limits.checkoutsKeptBytesMax) {
        return;
      }
      this.#drop(key);
    }
  }

  #bytes(): number {
    return [...this.#kept.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Builds that read it still hold it. */
  #drop(key: string): void {
    const kept = this.#kept.get(key);
    this.#kept.delete(key);
    kept?.tree[Symbol.dispose]();
  }
}

function bytesOf({ content }: BuildTree): number {
  return content.kind === 'layers'
    ? 0
    : [...content.context.tree.below('')].reduce((sum, { member }) => sum + member.size, 0);
}
