import type { ClientDuplexStream } from '@grpc/grpc-js';
import type { Clock } from '../../../daemon/base/clock.ts';
import { limits } from '../../../daemon/base/limits.ts';
import type { Change, RelistReason, WatchListener } from '../port.ts';
import type { EtcdChannel } from './channel.ts';
import type { ValueOf } from '../../../daemon/base/wire/protobuf.ts';
import { calls, DELETED } from './messages.ts';
import type { WatchAnswer } from './messages.ts';

interface Watched {
  clock: Clock;
  channel: EtcdChannel;
  /** What stands before every key, and is not told. */
  root: string;
  prefix: string;
  rangeEnd: string;
  from: number;
  listener: WatchListener;
}

type Stream = ClientDuplexStream<Parameters<typeof calls.watch.request.encode>[0], WatchAnswer>;

/**
 * A watch that is made anew, from where it was, whenever its stream ends. What etcd of Debian 12 (3.4.23) does wrong is
 * guarded against: events it tells twice or anew from the past are dropped (fixed in 3.4.24 and .25), and a store whose
 * revision went down is listed anew (.32).
 */
export class EtcdWatch implements Disposable {
  readonly #watched: Watched;
  #next: number;
  #stream: Stream | undefined;
  #retry: Disposable | undefined;
  #pauseMs: number = limits.swarmStoreRetryMs;
  #ended = false;

  constructor(watched: Watched) {
    this.#watched = watched;
    this.#next = watched.from;
    this.#open();
  }

  [Symbol.dispose](): void {
    this.#ended = true;
    this.#retry?.[Symbol.dispose]();
    this.#drop();
  }

  #open(): void {
    const { channel, root, prefix, rangeEnd } = this.#watched;
    const stream: Stream = channel.talk(calls.watch);
    this.#stream = stream;
    stream.on('data', (answer: WatchAnswer) => {
      if (this.#stream === stream) {
        this.#take(answer);
      }
    });
    const over = (): void => {
      if (this.#stream === stream) {
        this.#again();
      }
    };
    // An error is followed by no end: either may come.
    stream.on('error', over);
    stream.on('end', over);
    stream.write({ create: { key: root + prefix, rangeEnd, from: this.#next, progress: true } });
  }

  #take(answer: WatchAnswer): void {
    const revision = answer.header?.revision ?? 0;
    if (answer.canceled) {
      if (answer.compactedTo > 0) {
        this.#relist('compacted');
      } else {
        this.#again();
      }
      return;
    }
    if (revision < this.#next - 1) {
      this.#relist('went back');
      return;
    }
    this.#pauseMs = limits.swarmStoreRetryMs;
    for (const changes of this.#newOnes(answer)) {
      const told = revisionOf(changes[0]);
      this.#next = told + 1;
      this.#watched.listener.onChanges(changes, told);
      if (this.#ended) {
        return;
      }
    }
    if (answer.events.length === 0 && !answer.created && revision >= this.#next) {
      this.#next = revision + 1;
      this.#watched.listener.onChanges([], revision);
    }
  }

  /** One list a revision. etcd answers with whole revisions, in order. */
  #newOnes(answer: WatchAnswer): Change[][] {
    const lists: Change[][] = [];
    let last = this.#next - 1;
    for (const event of answer.events) {
      const change = toChange(event, this.#watched.root);
      const revision = revisionOf(change);
      if (change === undefined || revision < last || revision < this.#next) {
        continue;
      }
      if (revision > last) {
        lists.push([]);
        last = revision;
      }
      lists.at(-1)?.push(change);
    }
    return lists;
  }

  #relist(reason: RelistReason): void {
    this[Symbol.dispose]();
    this.#watched.listener.onRelist(reason);
  }

  #again(): void {
    this.#drop();
    if (!this.#ended) {
      this.#retry = this.#watched.clock.setTimeout(() => this.#open(), this.#pauseMs);
      this.#pauseMs = Math.min(this.#pauseMs * 2, limits.swarmStoreRetryMaxMs);
    }
  }

  #drop(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.cancel();
  }
}

function toChange(
  { type, entry }: ValueOf<typeof calls.watch.answer>['events'][number],
  root: string,
): Change | undefined {
  if (entry === undefined) {
    return undefined;
  }
  const key = entry.key.slice(root.length);
  return type === DELETED
    ? { kind: 'delete', key, revision: entry.revision }
    : { kind: 'put', entry: { ...entry, key } };
}

function revisionOf(change: Change | undefined): number {
  return change === undefined ? 0 : change.kind === 'put' ? change.entry.revision : change.revision;
}
