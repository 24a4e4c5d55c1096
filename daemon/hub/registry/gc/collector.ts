import { errorText } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';
import type { Repository } from '../../repositories/repository.ts';
import { nowMsOf, type RegistryDeps } from '../registry-deps.ts';
import { isAwaited } from '../blobs/links.ts';
import type { IndexRemovals } from '../manifests/index-removals.ts';
import type { Uploads } from '../uploads/uploads.ts';

/** What a repository has, by the first part of the keys of its records. */
const KINDS = ['tag', 'manifest', 'blob', 'note', 'index', 'leftover'] as const;

/**
 * Takes away what nobody needs: uploads that were given up, records of repositories that are gone, what deleted
 * indexes have left, blobs that no manifest names and no push waits for, and files that no repository has. It runs at
 * the start, now and then, and soon after something was deleted.
 */
export class Collector implements Disposable {
  readonly #deps: RegistryDeps;
  readonly #uploads: Uploads;
  readonly #indexes: IndexRemovals;
  #timer: Disposable | undefined;
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(deps: RegistryDeps, uploads: Uploads, indexes: IndexRemovals) {
    this.#deps = deps;
    this.#uploads = uploads;
    this.#indexes = indexes;
  }

  /** To be called once what is there is known. */
  start(): void {
    this.#later(0);
  }

  /** Something was deleted. */
  soon(): void {
    this.#later(limits.hubCollectSoonMs);
  }

  /** One at a time; who asks while one runs gets the next. */
  async collect(): Promise<void> {
    await this.#running;
    this.#running ??= this.#collect().finally(() => {
      this.#running = undefined;
    });
    await this.#running;
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
  }

  #later(delayMs: number): void {
    if (this.#isClosed) {
      return;
    }
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#deps.clock.setTimeout(() => {
      void this.#turn().catch((error: unknown) => {
        this.#deps.log.error({ err: error }, 'the registry collects no more');
      });
    }, delayMs);
  }

  async #turn(): Promise<void> {
    try {
      await this.collect();
    } catch (error) {
      this.#deps.log.warn({ reason: errorText(error) }, 'the registry could not collect what nobody needs');
    }
    this.#later(limits.hubCollectMs);
  }

  async #collect(): Promise<void> {
    await this.#uploads.expire();
    await this.#forgetOrphans();
    await this.#indexes.collect();
    for (const repository of this.#deps.repositories.all()) {
      await this.#unlink(repository);
    }
    await this.#removeFiles();
  }

  /** Records of repositories that are gone. Ids do not come again. */
  async #forgetOrphans(): Promise<void> {
    const { mirror, repositories } = this.#deps;
    const living = new Set(repositories.all().map(({ id }) => String(id)));
    const orphans = KINDS.flatMap((kind) =>
      Array.from(mirror.below(`${kind}/`), ({ key }) => key).filter(
        (key) => !living.has(key.split('/')[1] ?? ''),
      ),
    );
    for (let from = 0; from < orphans.length; from += limits.hubChangesAtOnce) {
      failpoint('hub.gc.forget');
      const some = orphans.slice(from, from + limits.hubChangesAtOnce);
      await mirror.change(() => ({
        changes: some.map((key) => ({ kind: 'delete', key })),
        answer: undefined,
      }));
    }
  }

  /**
   * Blobs of one repository that no manifest names. The update fails, and is decided anew, when a push has come to name
   * one meanwhile.
   */
  async #unlink(repository: Repository): Promise<void> {
    const { mirror, links, clock } = this.#deps;
    const stale = (): string[] => {
      const named = this.#deps.manifests.blobsOf(repository.id);
      const nowMs = nowMsOf(clock);
      return links
        .of(repository.id)
        .filter((link) => !isAwaited(link, nowMs) && !named.has(link.digest))
        .map(({ digest }) => digest)
        .slice(0, limits.hubChangesAtOnce);
    };
    while (stale().length > 0) {
      failpoint('hub.gc.unlink');
      await mirror.change(() => ({
        changes: stale().map((digest) => links.delete(repository.id, digest)),
        answer: undefined,
      }));
    }
  }

  async #removeFiles(): Promise<void> {
    const { files, locks } = this.#deps;
    const used = this.#used();
    for (const digest of await files.digests()) {
      if (!used.has(digest)) {
        await locks.run(digest, async () => {
          // A push or a mount may have come since.
          if (!this.#deps.isUsed(digest) && !this.#deps.arrivals.isPromised(digest)) {
            await files.remove(digest);
          }
        });
      }
    }
  }

  #used(): Set<string> {
    const { repositories, links, manifests } = this.#deps;
    return new Set(
      repositories
        .all()
        .flatMap(({ id }) => [...links.of(id), ...manifests.of(id)].map(({ digest }) => digest)),
    );
  }
}
