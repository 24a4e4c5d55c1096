import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { invalidArgument } from '../../../daemon/base/errors.ts';
import type { DirectoryQuotas } from '../../../storage/quotas/directory-quotas.ts';

/** Counts, and refuses no write: what a disk without quotas can show of them. Limits go with the inode. */
export class FakeQuotas implements DirectoryQuotas {
  reason: string | undefined;
  readonly #limits = new Map<number, number>();

  /** Of all directories that are limited now. */
  get limits(): number[] {
    return [...this.#limits.values()].filter((bytes) => bytes > 0);
  }

  obstacle(): string | undefined {
    return this.reason;
  }

  async limit([path]: readonly [string, ...string[]], bytes: number): Promise<void> {
    if (this.reason !== undefined) {
      throw invalidArgument(this.reason);
    }
    this.#limits.set(statSync(path).ino, bytes);
  }

  async usage(path: string): Promise<{ usedBytes: number; limitBytes: number } | undefined> {
    const limitBytes = this.#limits.get(statSync(path).ino);
    return limitBytes === undefined ? undefined : { usedBytes: bytesBelow(path), limitBytes };
  }

  async forget(path: string): Promise<void> {
    if (existsSync(path) && this.#limits.has(statSync(path).ino)) {
      this.#limits.set(statSync(path).ino, 0);
    }
  }
}

function bytesBelow(path: string): number {
  return readdirSync(path, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((total, { parentPath, name }) => total + statSync(join(parentPath, name)).blocks * 512, 0);
}
