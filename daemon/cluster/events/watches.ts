import type { EventSelection, EventWatcher, WatchedChange } from '../../../api/types/cluster/events.ts';
import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { KnownEvent } from './event-text.ts';
import { expired } from './problems.ts';
import { predicateOf, type Predicate } from './rules/selection.ts';

/** What became of one event. */
export interface Change {
  kind: 'put' | 'delete';
  /** As it is, or was, with the revision of its removal. */
  event: KnownEvent;
  /** As it was before; undefined = it is new. */
  before: KnownEvent | undefined;
}

/** Watches of the same selection: what they are told is made once. */
interface Group {
  matches: Predicate | undefined;
  watchers: Set<EventWatcher>;
}

/**
 * Tells watches of changes, those of some milliseconds at a time, and remembers the newest for watches that begin
 * later than their list.
 */
export class Watches implements Disposable {
  readonly #clock: Clock;
  readonly #groups = new Map<string, Group>();
  /** The newest changes, oldest first, in a ring. */
  #history: Change[] = [];
  /** Changes after it are in the history. */
  #oldest: number;
  #told: number;
  #untold: Change[] = [];
  #timer: Disposable | undefined;
  #toldMs = -Infinity;

  constructor(clock: Clock, revision: number) {
    this.#clock = clock;
    this.#oldest = revision;
    this.#told = revision;
  }

  get oldest(): number {
    return this.#oldest;
  }

  /** Changes up to this one were told. */
  get told(): number {
    return this.#told;
  }

  add(changes: readonly Change[]): void {
    for (const change of changes) {
      this.#history.push(change);
      this.#untold.push(change);
    }
    const excess = this.#history.length - limits.clusterChangesRemembered;
    // Not one by one: taking away from the front moves all others.
    if (excess > limits.clusterChangesRemembered / 4) {
      this.#oldest = this.#history[excess - 1]?.event.revision ?? this.#oldest;
      this.#history = this.#history.slice(excess);
    }
    this.#schedule();
  }

  /** Throws expired for a revision whose changes after it are not known; invalid_argument for a selector. */
  watch(selection: EventSelection, from: number, watcher: EventWatcher): Disposable {
    const matches = predicateOf(selection);
    if (from < this.#oldest) {
      throw expired(`too old resource version: ${from} (${this.#oldest})`);
    }
    this.#tell();
    const missed = watched(this.#history.slice(firstAfter(this.#history, from)), matches);
    const { namespace = '', fieldSelector, labelSelector, fields } = selection;
    const key = JSON.stringify([namespace, fieldSelector, labelSelector, fields]);
    const group = this.#groups.get(key) ?? { matches, watchers: new Set() };
    this.#groups.set(key, group);
    group.watchers.add(watcher);
    if (missed.length > 0) {
      watcher.onChanges(missed);
    }
    return {
      [Symbol.dispose]: () => {
        group.watchers.delete(watcher);
        if (group.watchers.size === 0 && this.#groups.get(key) === group) {
          this.#groups.delete(key);
        }
      },
    };
  }

  /** What has happened is not known: all list again. */
  forget(revision: number): void {
    this.#history = [];
    this.#untold = [];
    this.#oldest = revision;
    this.#told = revision;
    const ended = [...this.#groups.values()].flatMap(({ watchers }) => [...watchers]);
    this.#groups.clear();
    ended.forEach((watcher) => watcher.onEnd());
  }

  [Symbol.dispose](): void {
    this.#tell();
    this.#timer?.[Symbol.dispose]();
    this.forget(this.#oldest);
  }

  #schedule(): void {
    if (this.#timer !== undefined) {
      return;
    }
    const restMs = this.#toldMs + limits.clusterWatchPaceMs - this.#clock.monotonicMs();
    this.#timer = this.#clock.setTimeout(() => this.#tell(), Math.max(0, Math.ceil(restMs)));
  }

  #tell(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    if (this.#untold.length === 0) {
      return;
    }
    this.#toldMs = this.#clock.monotonicMs();
    const changes = this.#untold;
    this.#told = changes.at(-1)?.event.revision ?? this.#told;
    this.#untold = [];
    for (const { matches, watchers } of this.#groups.values()) {
      const seen = watched(changes, matches);
      if (seen.length > 0) {
        watchers.forEach((watcher) => watcher.onChanges(seen));
      }
    }
  }
}

/** Of changes in order of their revisions. */
function firstAfter(changes: readonly Change[], revision: number): number {
  let [low, high] = [0, changes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((changes[middle]?.event.revision ?? 0) <= revision) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

function watched(changes: readonly Change[], matches: Predicate | undefined): WatchedChange[] {
  const seen: WatchedChange[] = [];
  for (const { kind, event, before } of changes) {
    const wasIn = before !== undefined && (matches?.(before) ?? true);
    const isIn = kind === 'put' && (matches?.(event) ?? true);
    if (isIn || wasIn) {
      seen.push({ type: isIn ? (wasIn ? 'MODIFIED' : 'ADDED') : 'DELETED', event });
    }
  }
  return seen;
}
