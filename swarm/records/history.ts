import type { KeptEvent, KeptListener } from './port.ts';

interface Watch {
  prefix: string;
  listener: KeptListener;
}

/** Watches of records, and the newest updates for those that begin a little later than their list. */
export class History {
  readonly #max: number;
  readonly #watches = new Set<Watch>();
  #updates: { revision: number; events: readonly KeptEvent[] }[] = [];
  /** All updates after it are here. */
  #forgotten: number;
  #told: number;

  /** `revision`: what was before is not known here. */
  constructor(max: number, revision: number) {
    this.#max = max;
    this.#forgotten = revision;
    this.#told = revision;
  }

  /** Of the newest update. */
  get told(): number {
    return this.#told;
  }

  tell(events: readonly KeptEvent[], revision: number): void {
    this.#told = revision;
    this.#updates.push({ revision, events });
    if (this.#updates.length > this.#max) {
      this.#forgotten = this.#updates.shift()?.revision ?? this.#forgotten;
    }
    for (const watch of this.#watches) {
      tellOne(watch, events, revision);
    }
  }

  /** What has happened is not known: all list again. */
  forget(revision: number): void {
    this.#updates = [];
    this.#forgotten = revision;
    this.#told = revision;
    const ended = [...this.#watches];
    this.#watches.clear();
    ended.forEach(({ listener }) => listener.onRelist());
  }

  watch(prefix: string, from: number, listener: KeptListener): Disposable {
    const watch = { prefix, listener };
    if (from <= this.#forgotten) {
      queueMicrotask(() => listener.onRelist());
      return { [Symbol.dispose]: () => undefined };
    }
    for (const { revision, events } of this.#updates.filter((each) => each.revision >= from)) {
      tellOne(watch, events, revision);
    }
    this.#watches.add(watch);
    return { [Symbol.dispose]: () => this.#watches.delete(watch) };
  }
}

function tellOne({ prefix, listener }: Watch, events: readonly KeptEvent[], revision: number): void {
  const below = events.filter((event) => keyOf(event).startsWith(prefix));
  if (below.length > 0) {
    listener.onChanges(below, revision);
  }
}

function keyOf(event: KeptEvent): string {
  return event.kind === 'put' ? event.record.key : event.key;
}
