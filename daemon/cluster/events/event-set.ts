import { knownEvent, type KnownEvent } from './event-text.ts';
import { OrderedKeys } from './ordered-keys.ts';
import type { Predicate } from './rules/selection.ts';
import type { AppliedChange, StoredState } from './storage/port.ts';
import type { Change } from './watches.ts';

/** All events in memory: reads are answered from here. */
export class EventSet {
  readonly #events = new Map<string, KnownEvent>();
  readonly #keys = new OrderedKeys();
  #revision = 0;

  /** Of the newest change. */
  get revision(): number {
    return this.#revision;
  }

  get size(): number {
    return this.#events.size;
  }

  get(key: string): KnownEvent | undefined {
    return this.#events.get(key);
  }

  all(): IterableIterator<KnownEvent> {
    return this.#events.values();
  }

  reset({ events, revision }: StoredState): void {
    this.#events.clear();
    this.#keys.clear();
    for (const { key, body, revision: own, facts } of events) {
      this.#events.set(key, knownEvent(key, body, own, facts));
      this.#keys.add(key);
    }
    this.#revision = revision;
  }

  apply(changes: readonly AppliedChange[]): Change[] {
    return changes.flatMap((change): Change[] => {
      const { key, revision } = change;
      const before = this.#events.get(key);
      this.#revision = Math.max(this.#revision, revision);
      if (change.kind === 'put') {
        const event = knownEvent(key, change.body, revision, change.facts);
        this.#events.set(key, event);
        if (before === undefined) {
          this.#keys.add(key);
        }
        return [{ kind: 'put', event, before }];
      }
      if (before === undefined) {
        return [];
      }
      this.#events.delete(key);
      this.#keys.remove(key);
      return [{ kind: 'delete', event: withRevision(before, revision), before }];
    });
  }

  /** In order of keys, from behind `after` on: those that match, at most `limit`, and how many keys are left. */
  select(
    matches: Predicate | undefined,
    { namespace, after, limit }: { namespace: string | undefined; after: string; limit: number },
  ): { items: KnownEvent[]; isMore: boolean; left: number } {
    const keys = this.#keys.all();
    const prefix = namespace === undefined ? '' : `${namespace}/`;
    // '0' comes next to '/'.
    const end = namespace === undefined ? keys.length : this.#keys.firstAfter(`${namespace}0`);
    const items: KnownEvent[] = [];
    let index = this.#keys.firstAfter(after > prefix ? after : prefix);
    for (; index < end; index += 1) {
      const event = this.#events.get(keys[index] ?? '');
      if (event !== undefined && (matches?.(event) ?? true)) {
        if (items.length === limit) {
          return { items, isMore: true, left: end - index };
        }
        items.push(event);
      }
    }
    return { items, isMore: false, left: 0 };
  }
}

/** As it was, with the revision of its removal. */
function withRevision(event: KnownEvent, revision: number): KnownEvent {
  const text = event.text.replace(`"resourceVersion":"${event.revision}"`, `"resourceVersion":"${revision}"`);
  return { ...event, revision, text };
}
