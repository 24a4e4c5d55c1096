import type { Clock } from '../../../daemon/base/clock.ts';
import { invariant } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { checkCommit } from '../check-commit.ts';
import { elect } from '../election.ts';
import { isStoreError, StoreError } from '../errors.ts';
import type {
  Candidate,
  Commit,
  Entry,
  Leadership,
  Page,
  Store,
  ViewOptions,
  WatchListener,
} from '../port.ts';
import type { EtcdChannel } from './channel.ts';
import type { ValueOf } from '../../../daemon/base/wire/protobuf.ts';
import { EtcdWatch } from './etcd-watch.ts';
import { etcdLeases } from './leases.ts';
import { calls, TARGET } from './messages.ts';
import type { KeyValue } from './messages.ts';

/** Before every key: the layout's version, so that a later one can stand beside it while it is converted. */
const ROOT = '/berth/1/';
/** Entries of a view's first page: values may have a megabyte each. */
const FIRST_PAGE = 100;
/** Pages grow while they hold less. */
const PAGE_BYTES = 2 * 1024 * 1024;

/** The store in etcd, by one member: this manager's own. */
export class EtcdStore implements Store {
  readonly #clock: Clock;
  readonly #channel: EtcdChannel;
  readonly #watches = new Set<EtcdWatch>();
  readonly #closed = new AbortController();

  /** The channel stays the caller's. */
  constructor({ clock, channel }: { clock: Clock; channel: EtcdChannel }) {
    this.#clock = clock;
    this.#channel = channel;
  }

  async *view(prefix: string, options: ViewOptions = {}): AsyncIterable<Page> {
    const rangeEnd = endOf(ROOT + prefix);
    let { revision } = options;
    let key = ROOT + prefix;
    let limit = options.keysOnly === true ? limits.swarmStorePageKeys : FIRST_PAGE;
    for (;;) {
      this.#checkOpen(`view ${prefix}`);
      const answer = await this.#channel.ask(calls.range, {
        key,
        rangeEnd,
        limit,
        revision: revision ?? 0,
        keysOnly: options.keysOnly === true,
      });
      revision ??= revisionOf(answer);
      yield { revision, entries: answer.entries.map(toEntry) };
      const last = answer.entries.at(-1);
      if (!answer.more || last === undefined) {
        return;
      }
      key = `${last.key}\0`;
      const size = answer.entries.reduce((sum, { value }) => sum + value.length, 0);
      limit = Math.min(size < PAGE_BYTES ? limit * 4 : limit, limits.swarmStorePageKeys);
    }
  }

  async commit(commit: Commit): Promise<number> {
    const { conditions, writes, fence } = commit;
    this.#checkOpen('commit');
    checkCommit(commit);
    const compared = [...(fence === undefined ? [] : [fence.key]), ...conditions.map(({ key }) => key)];
    const request = {
      compare: [
        ...(fence === undefined
          ? []
          : [{ target: TARGET.created, key: ROOT + fence.key, created: fence.created }]),
        ...conditions.map(({ key, revision }) => ({ target: TARGET.revision, key: ROOT + key, revision })),
      ],
      success: writes.map((write) =>
        write.kind === 'put'
          ? { put: { key: ROOT + write.key, value: write.value } }
          : { delete: { key: ROOT + write.key } },
      ),
      failure: compared.map((key) => ({ range: { key: ROOT + key, keysOnly: true } })),
    };
    const answer = await this.#channel.ask(calls.transaction, request, commit.timeoutMs);
    if (!answer.succeeded) {
      throw refusal(commit, answer);
    }
    return revisionOf(answer);
  }

  watch(prefix: string, from: number, listener: WatchListener): Disposable {
    this.#checkOpen(`watch ${prefix}`);
    const rangeEnd = endOf(ROOT + prefix);
    const watched = {
      clock: this.#clock,
      channel: this.#channel,
      root: ROOT,
      prefix,
      rangeEnd,
      from,
      listener,
    };
    const watch = new EtcdWatch(watched);
    this.#watches.add(watch);
    return {
      [Symbol.dispose]: () => {
        watch[Symbol.dispose]();
        this.#watches.delete(watch);
      },
    };
  }

  elect(candidate: Candidate): Promise<Leadership> {
    const signals = [this.#closed.signal, ...(candidate.signal === undefined ? [] : [candidate.signal])];
    return elect(
      { clock: this.#clock, leases: etcdLeases(this.#channel, ROOT), store: this },
      { ...candidate, signal: AbortSignal.any(signals) },
    );
  }

  async compact(revision: number): Promise<void> {
    this.#checkOpen('compact');
    try {
      await this.#channel.ask(calls.compact, { revision });
    } catch (error) {
      if (!isStoreError(error, 'compacted')) {
        throw error;
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort();
    for (const watch of this.#watches) {
      watch[Symbol.dispose]();
    }
    this.#watches.clear();
  }

  #checkOpen(what: string): void {
    if (this.#closed.signal.aborted) {
      throw new StoreError('canceled', `${what}: the store was closed`);
    }
  }
}

/** Why a transaction was not done, from the keys as they were at that moment. */
function refusal(
  { conditions, fence }: Commit,
  { answers }: ValueOf<typeof calls.transaction.answer>,
): StoreError {
  const found = answers.map(({ range }) => range?.entries[0]);
  const leader = fence === undefined ? undefined : found.shift();
  if (fence !== undefined && leader?.created !== fence.created) {
    return new StoreError('fenced', `commit as ${fence.key}: another leader was elected`);
  }
  const changed = conditions
    .filter(({ revision }, index) => (found[index]?.revision ?? 0) !== revision)
    .map(({ key }) => key);
  return new StoreError('conflict', `commit: changed meanwhile: ${changed.join(', ')}`, { changed });
}

function toEntry({ key, value, revision, created }: KeyValue): Entry {
  return { key: key.slice(ROOT.length), value, revision, created };
}

function revisionOf({ header }: { header: { revision: number } | undefined }): number {
  invariant(header !== undefined, 'etcd answers with a header');
  return header.revision;
}

/** The first key behind all that begin so: keys are ASCII. */
function endOf(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
}
