/**
 * Which generations of a log are still to be read. Followers and deliveries pin where they are; the rotation keeps what
 * is pinned a little longer than it would. Known in memory only: a daemon that dies takes its readers with it.
 */
const pins = new Map<string, Set<LogPin>>();

/** A reader's claim on the files from `generation` on. */
export class LogPin implements Disposable {
  generation: number;
  readonly #path: string;

  constructor(path: string, generation: number) {
    this.#path = path;
    this.generation = generation;
    const all = pins.get(path) ?? new Set();
    pins.set(path, all.add(this));
  }

  [Symbol.dispose](): void {
    const all = pins.get(this.#path);
    all?.delete(this);
    if (all?.size === 0) {
      pins.delete(this.#path);
    }
  }
}

/** The oldest generation that a reader of this log still needs; undefined when none does. */
export function oldestPinned(path: string): number | undefined {
  const all = pins.get(path);
  return all && Math.min(...[...all].map(({ generation }) => generation));
}
