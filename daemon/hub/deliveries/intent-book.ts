import type { RecordChange } from '../records/port.ts';
import { INTENTS, intentsOf, recordOf, type Intent } from './intent.ts';

interface Known {
  key: string;
  /** By id: what is not made and written down yet. */
  left: ReadonlyMap<string, Intent>;
  /** The watch has told that it is gone. */
  isGone: boolean;
}

export interface Ended {
  intent: Intent;
  /** The next attempt; undefined = there is none. */
  next: Intent | undefined;
}

export interface Settled {
  changes: readonly RecordChange[];
  /** To be called once they are made. */
  done: () => void;
}

/**
 * Which deliveries one loop knows, by their records. It writes these records alone, so what the watch tells of one that
 * is known was written by itself: told late, it is not what is left any more. Pure state.
 */
export class IntentBook {
  readonly #known = new Map<string, Known>();
  readonly #ofIntent = new WeakMap<Intent, Known>();

  /** The deliveries of a record that is new; none where it is known. */
  take(key: string, value: unknown): readonly Intent[] {
    if (this.#known.has(key)) {
      return [];
    }
    const intents = intentsOf(value);
    const known = { key, left: new Map(intents.map((intent) => [intent.id, intent])), isGone: false };
    this.#known.set(key, known);
    intents.forEach((intent) => this.#ofIntent.set(intent, known));
    return intents;
  }

  /** The watch tells that a record is gone: nothing is told of it from now on. */
  gone(key: string): void {
    const known = this.#known.get(key);
    if (known !== undefined) {
      known.isGone = true;
      this.#forget(known);
    }
  }

  /** Keys of records that are gone, as far as the watch has not told it. */
  over(): readonly string[] {
    return [...this.#known.values()].filter(({ left }) => left.size === 0).map(({ key }) => key);
  }

  /** What is to be written where deliveries have ended: their records go, or name those that are left. */
  settle(ended: readonly Ended[]): Settled {
    const left = new Map<Known, Map<string, Intent>>();
    for (const { intent, next } of ended) {
      const known = this.#knownOf(intent);
      const rest = left.get(known) ?? new Map(known.left);
      left.set(known, rest);
      rest.delete(intent.id);
      if (next !== undefined) {
        rest.set(next.id, next);
      }
    }
    return {
      changes: Array.from(left, ([{ key }, rest]) => changeOf(key, [...rest.values()])),
      done: () => {
        for (const [known, rest] of left) {
          known.left = rest;
          rest.forEach((intent) => this.#ofIntent.set(intent, known));
          this.#forget(known);
        }
      },
    };
  }

  #knownOf(intent: Intent): Known {
    const known = this.#ofIntent.get(intent);
    if (known === undefined) {
      throw new Error(`delivery ${intent.guid} is not of this loop`);
    }
    return known;
  }

  #forget({ key, left, isGone }: Known): void {
    if (isGone && left.size === 0) {
      this.#known.delete(key);
    }
  }
}

function changeOf(key: string, [first, ...rest]: readonly Intent[]): RecordChange {
  return first === undefined
    ? { kind: 'delete', key }
    : { kind: 'put', key, value: recordOf(key.slice(INTENTS.length), [first, ...rest]) };
}
