import type { Clock } from '../../../daemon/base/clock.ts';
import type { MemoryCluster } from './memory-cluster.ts';
import type { MemoryFaults } from './faults.ts';
import type { Change, WatchListener } from '../port.ts';

/** Pause before a watch whose connection was cut asks again. */
const RECONNECT_MS = 50;

interface Watched {
  clock: Clock;
  cluster: MemoryCluster;
  faults: MemoryFaults;
  prefix: string;
  from: number;
  listener: WatchListener;
}

/** Reads the cluster's history from where it is, whenever something changed: late, never twice, never with a gap. */
export class MemoryWatch implements Disposable {
  readonly #watched: Watched;
  readonly #subscription: Disposable;
  #next: number;
  #pumping = false;
  #ended = false;

  constructor(watched: Watched) {
    this.#watched = watched;
    this.#next = watched.from;
    this.#subscription = watched.cluster.listen(() => this.#schedule());
    this.#schedule();
  }

  [Symbol.dispose](): void {
    this.#ended = true;
    this.#subscription[Symbol.dispose]();
  }

  /** Never in the turn of the change: its maker goes on first, as over a network. */
  #schedule(): void {
    if (this.#pumping) {
      return;
    }
    this.#pumping = true;
    const fault = this.#watched.faults('watch');
    if (fault === undefined) {
      queueMicrotask(() => this.#pump());
    } else {
      this.#watched.clock.setTimeout(() => this.#pump(), fault.kind === 'delay' ? fault.ms : RECONNECT_MS);
    }
  }

  #pump(): void {
    this.#pumping = false;
    const { cluster, prefix, listener } = this.#watched;
    const { history } = cluster;
    if (this.#ended) {
      return;
    }
    const reason =
      this.#next > history.revision + 1
        ? 'went back'
        : this.#next < history.compactedTo
          ? 'compacted'
          : undefined;
    if (reason !== undefined) {
      this[Symbol.dispose]();
      listener.onRelist(reason);
      return;
    }
    const lists = history.since(prefix, this.#next);
    this.#next = history.revision + 1;
    for (const changes of lists) {
      if (!this.#ended) {
        listener.onChanges(changes, revisionOf(changes));
      }
    }
  }
}

function revisionOf(changes: readonly Change[]): number {
  const [first] = changes;
  return first === undefined ? 0 : first.kind === 'put' ? first.entry.revision : first.revision;
}
