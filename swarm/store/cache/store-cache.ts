import type { Clock } from '../../../daemon/base/clock.ts';
import { pause } from '../../../daemon/base/concurrency/pause.ts';
import { errorText } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import { isStoreError, StoreError } from '../errors.ts';
import type { Change, Entry, RelistReason, Store } from '../port.ts';
import { differencesOf, isKept, keep, type Kept } from './differences.ts';
import { Fingerprint } from './fingerprint.ts';
import { RevisionWaiters } from './revision-waiters.ts';

/** How often the cache is compared with the store. */
const AUDIT_MS = 5 * 60_000;

interface Deps<V> {
  clock: Clock;
  logger: Logger;
  store: Store;
  /** What is kept of an entry's value in place of its bytes. */
  read: (entry: Entry) => V;
}

/** Called with each change in order; after a relist with what differs, for one key at most once. */
export type ChangeListener<V> = (changes: readonly Change<V>[]) => void;

/**
 * All entries of the store in memory, kept up to date: listed once, then watched. A manager answers its clients from
 * here, and waits with `reached` after a commit of its own so that a client reads what it wrote.
 *
 * INVARIANTS
 * - An entry is replaced only by a higher revision, but for a relist, which replaces all.
 * - At `revision` the cache is what a view of the store at that revision shows. `audit` looks whether that is so.
 */
export class StoreCache<V> implements AsyncDisposable {
  readonly #deps: Deps<V>;
  readonly #listeners = new Set<ChangeListener<V>>();
  readonly #closed = new AbortController();
  readonly #waiters: RevisionWaiters;
  #entries = new Map<string, Kept<V>>();
  #revision = 0;
  #watch: Disposable | undefined;
  #auditTimer: Disposable | undefined;
  #differences = 0;
  #relists = 0;

  private constructor(deps: Deps<V>) {
    this.#deps = deps;
    this.#waiters = new RevisionWaiters(deps.clock);
  }

  /** Resolves when everything is listed; until then the store is asked again for as long as it does not answer. */
  static async open<V>(deps: Deps<V>, listener?: ChangeListener<V>): Promise<StoreCache<V>> {
    const cache = new StoreCache(deps);
    if (listener !== undefined) {
      cache.#listeners.add(listener);
    }
    await cache.#list();
    cache.#scheduleAudit();
    return cache;
  }

  /** All up to it is here. */
  get revision(): number {
    return this.#revision;
  }

  /** Audits that found the cache to differ from the store: 0 in a store without faults. */
  get differences(): number {
    return this.#differences;
  }

  /** Times that everything was listed again. */
  get relists(): number {
    return this.#relists;
  }

  get(key: string): Entry<V> | undefined {
    return this.#entries.get(key);
  }

  entries(): Iterable<Entry<V>> {
    return this.#entries.values();
  }

  subscribe(listener: ChangeListener<V>): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  /** Resolves when the cache has what was written at a revision. Throws `unavailable` when that takes too long. */
  reached(revision: number): Promise<void> {
    return revision <= this.#revision ? Promise.resolve() : this.#waiters.wait(revision);
  }

  /**
   * Compares keys and revisions with the store's, at the cache's own revision, after the cache has caught up with the
   * store. Where they differ everything is listed anew. Answers whether they were the same.
   */
  async audit(): Promise<boolean> {
    const { store, logger } = this.#deps;
    const newest = await newestRevision(store);
    const isCurrent = await this.reached(newest).then(
      () => true,
      () => false,
    );
    const { relists, revision } = this;
    const mine = new Fingerprint().add(this.#entries.values()).toString();
    const theirs = new Fingerprint();
    for await (const page of store.view('', { revision, keysOnly: true })) {
      theirs.add(page.entries);
    }
    if (relists !== this.relists || (isCurrent && mine === theirs.toString())) {
      return true;
    }
    this.#differences += 1;
    logger.error(
      { revision, newest, cache: mine, store: theirs.toString() },
      'the cache differs from the store, which is listed anew',
    );
    await this.#relist();
    return false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort();
    this.#auditTimer?.[Symbol.dispose]();
    this.#watch?.[Symbol.dispose]();
    this.#waiters.close();
  }

  async #relist(): Promise<void> {
    this.#watch?.[Symbol.dispose]();
    this.#relists += 1;
    await this.#list();
  }

  async #list(): Promise<void> {
    let delayMs: number = limits.swarmStoreRetryMs;
    while (!this.#closed.signal.aborted) {
      try {
        await this.#listOnce();
        return;
      } catch (error) {
        if (!(error instanceof StoreError) || isStoreError(error, 'canceled')) {
          throw error;
        }
        this.#deps.logger.warn({ error: error.message }, 'the store could not be listed yet');
      }
      await pause(this.#deps.clock, delayMs, this.#closed.signal);
      delayMs = Math.min(delayMs * 2, limits.swarmStoreRetryMaxMs);
    }
  }

  async #listOnce(): Promise<void> {
    const relists = this.#relists;
    const listed = new Map<string, Kept<V>>();
    let revision = 0;
    for await (const page of this.#deps.store.view('')) {
      revision = page.revision;
      for (const entry of page.entries) {
        const known = this.#entries.get(entry.key);
        const kept = known !== undefined && isKept(known, entry) ? known : keep(entry, this.#deps.read);
        listed.set(entry.key, kept);
      }
    }
    if (relists !== this.#relists || this.#closed.signal.aborted) {
      // Another relist began meanwhile: its watch is the one that counts.
      return;
    }
    const changes = differencesOf(this.#entries, listed, revision);
    this.#entries = listed;
    this.#watch = this.#deps.store.watch('', revision + 1, {
      onChanges: (told, upTo) => this.#take(told, upTo),
      onRelist: (reason) => this.#onRelist(reason),
    });
    this.#advance(changes, revision);
  }

  #take(told: readonly Change[], revision: number): void {
    const changes = told.flatMap((change) => this.#apply(change) ?? []);
    this.#advance(changes, revision);
  }

  /** As it is kept; undefined where it was no news. */
  #apply(change: Change): Change<V> | undefined {
    const key = change.kind === 'put' ? change.entry.key : change.key;
    const revision = change.kind === 'put' ? change.entry.revision : change.revision;
    const known = this.#entries.get(key);
    if (revision <= (known?.revision ?? 0) || (change.kind === 'delete' && known === undefined)) {
      return undefined;
    }
    if (change.kind === 'delete') {
      this.#entries.delete(key);
      return change;
    }
    const entry = keep(change.entry, this.#deps.read);
    this.#entries.set(key, entry);
    return { kind: 'put', entry };
  }

  #advance(changes: readonly Change<V>[], revision: number): void {
    this.#revision = revision;
    if (changes.length > 0) {
      for (const listener of this.#listeners) {
        listener(changes);
      }
    }
    this.#waiters.reached(revision);
  }

  #onRelist(reason: RelistReason): void {
    this.#deps.logger.warn({ reason, revision: this.#revision }, 'the store is listed anew');
    void this.#relist().catch((error: unknown) => {
      if (!this.#closed.signal.aborted) {
        this.#deps.logger.error({ error: errorText(error) }, 'the store could not be listed anew');
      }
    });
  }

  #scheduleAudit(): void {
    this.#auditTimer = this.#deps.clock.setTimeout(() => {
      const scheduled = this.audit().finally(() => this.#closed.signal.aborted || this.#scheduleAudit());
      void scheduled.catch((error: unknown) => {
        // Without a majority there is nothing to compare with; the next one comes.
        this.#deps.logger.debug({ error: errorText(error) }, 'the cache could not be audited');
      });
    }, AUDIT_MS);
  }
}

async function newestRevision(store: Store): Promise<number> {
  // A prefix that no key has.
  for await (const page of store.view('~')) {
    return page.revision;
  }
  return 0;
}
